"""Which cluster or service a command is about."""
