"""How a training step is computed on what the nodes have: one backend a folder, found by its name."""
