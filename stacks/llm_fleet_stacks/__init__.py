"""Floor 4: stacks that only compose constructs, long-lived ones apart from short-lived ones."""
