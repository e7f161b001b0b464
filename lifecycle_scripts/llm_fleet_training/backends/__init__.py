"""Backends compute training steps on the hardware of the nodes: one folder each, found by its name."""
