"""A Lambda function that counts missing and failed nodes of clusters, and sets the retention of log groups."""
