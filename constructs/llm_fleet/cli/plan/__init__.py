"""`llm-fleet plan`."""
