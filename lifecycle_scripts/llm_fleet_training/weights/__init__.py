"""Weights and what belongs to them: where they come from, and folders that are whole or not there at all."""
