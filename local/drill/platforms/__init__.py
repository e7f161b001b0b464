"""What the platforms do on a node around the scripts, imitated: each module says what, and from which source."""
