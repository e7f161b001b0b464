"""Runs in the oracle's own environment: imports `pcluster`, and nothing of llm-fleet."""
