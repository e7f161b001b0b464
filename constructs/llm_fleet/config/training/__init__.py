"""Training in the fleet file: what nodes carry for jobs."""
