"""Custom resources: the function that a template names really runs."""
