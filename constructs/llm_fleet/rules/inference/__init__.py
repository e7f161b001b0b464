"""Rules of inference services."""
