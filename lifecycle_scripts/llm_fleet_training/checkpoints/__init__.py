"""Atomic checkpoints: written to a temporary folder, renamed when complete, verified before use. Needs no torch."""
