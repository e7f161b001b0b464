"""A Lambda function that looks at clusters: how many nodes are missing or failed, and whether logs end."""
