"""The drill trains: a small Llama on the cluster's nodes, by the batch files as they are published."""
