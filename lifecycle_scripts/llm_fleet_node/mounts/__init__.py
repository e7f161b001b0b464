"""What is mounted on this node, and how it gets there and is proven to work."""
