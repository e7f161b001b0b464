"""Programs on a node that tell Prometheus how it is."""
