"""Emulation of the platforms' work on a node before and after the scripts; each module names its sources."""
