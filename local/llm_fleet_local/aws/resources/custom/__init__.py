"""Custom resources: the function in the template is run."""
