"""`llm-fleet connect`."""
