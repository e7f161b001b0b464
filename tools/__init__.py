"""What the project itself is built and shown with. Not in the wheel."""
