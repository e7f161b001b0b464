"""How pinned files come to a node."""
