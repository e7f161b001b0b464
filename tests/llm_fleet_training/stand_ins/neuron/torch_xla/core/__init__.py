"""Part of a stand-in; see neuron/README.md."""
