"""Rules of training: the training runtime on the nodes, the parallelism of a run, and its requirements."""
