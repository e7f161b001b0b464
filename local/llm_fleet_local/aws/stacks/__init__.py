"""Stacks: their state, the changes of an update, and the deployment of these changes."""
