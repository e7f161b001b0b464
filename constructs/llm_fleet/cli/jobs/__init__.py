"""`llm-fleet jobs`: batch files written, submitted and followed."""
