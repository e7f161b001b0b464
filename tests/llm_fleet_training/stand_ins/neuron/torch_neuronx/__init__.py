"""A are-in of torch-neuronx: that it is installed."""
