"""Stacks: their state, what an update would change, and the work of making it so."""
