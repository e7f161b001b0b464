"""Rules of training: the runtime that nodes carry, how a run is spread over them, and what it needs."""
