"""Jobs that clusters run: what is asked for, checked, and the batch files that do it."""
