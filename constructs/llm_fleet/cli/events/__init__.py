"""`llm-fleet events`."""
