"""What is watched of a fleet, and who is told, as the fleet file says it."""
