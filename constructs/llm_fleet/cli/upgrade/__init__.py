"""`llm-fleet upgrade`."""
