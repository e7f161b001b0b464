"""From a checkpoint of any backend to a folder as Hugging Face writes it, one weight at a time."""
