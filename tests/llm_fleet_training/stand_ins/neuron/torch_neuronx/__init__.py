"""A stand-in of torch-neuronx, to be found as installed."""
