"""Layer 5: the `llm-fleet` command."""
