"""Downloads of pinned files."""
