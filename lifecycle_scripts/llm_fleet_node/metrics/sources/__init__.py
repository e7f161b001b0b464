"""The sources of metrics, one in each file."""
