"""`llm-fleet nodes`."""
