"""The program that measures the node: how it is laid down, and what it says."""
