"""A Lambda function that looks at clusters: how many nodes are missing or failed, and whether their logs end one day."""
