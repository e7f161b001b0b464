"""Mounts on this node, and tests that they work."""
