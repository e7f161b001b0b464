"""Prometheus exporters on a node."""
