"""What is measured, one thing a file."""
