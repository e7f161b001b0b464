"""The train loop, its checkpoints and metrics. Uses backends only through their protocol."""
