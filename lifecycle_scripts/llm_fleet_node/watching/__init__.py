"""The metrics program: installation and status."""
