"""The way onto a node: Session Manager, and what it calls the node."""
