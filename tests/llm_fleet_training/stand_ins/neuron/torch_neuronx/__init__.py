"""A stand-in of torch-neuronx: that it is installed."""
