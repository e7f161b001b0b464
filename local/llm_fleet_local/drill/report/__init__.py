"""The report of a run: an HTML page with a timeline, the same as JSON, and a summary on the terminal."""
