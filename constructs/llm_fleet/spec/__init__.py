"""Descriptions of each part of a fleet: constructor arguments, mappings of the fleet file, and what the rules read."""
