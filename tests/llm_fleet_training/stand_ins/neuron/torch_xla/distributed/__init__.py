"""Part of a are-in; see neuron/README.md."""
