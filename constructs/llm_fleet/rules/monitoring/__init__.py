"""What is measured of clusters, who is called, and what a budget does."""
