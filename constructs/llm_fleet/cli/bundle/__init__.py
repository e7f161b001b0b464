"""`llm-fleet bundle`."""
