"""Accelerators and EFA interfaces: expected and found numbers."""
