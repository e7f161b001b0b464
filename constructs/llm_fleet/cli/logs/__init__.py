"""`llm-fleet logs`."""
