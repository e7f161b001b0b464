"""Jobs of clusters: training runs, their checks, and their batch files."""
