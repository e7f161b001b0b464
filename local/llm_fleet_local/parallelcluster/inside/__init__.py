"""Runs in the oracle's Python environment: imports `pcluster`, and nothing of llm-fleet."""
