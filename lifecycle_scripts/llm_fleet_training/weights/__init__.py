"""Sources of weights, config and tokenizer, and folders that are written atomically."""
