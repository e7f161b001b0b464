"""Rules of a training run: how it is spread over nodes, what it needs of them, and whether it fits."""
