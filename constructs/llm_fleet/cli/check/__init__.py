"""`llm-fleet check`."""
