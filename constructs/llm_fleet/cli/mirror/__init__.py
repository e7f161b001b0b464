"""`llm-fleet mirror`: pins what nodes may fetch, and keeps it where they can reach it."""
