"""Code of Lambda functions: a self-contained directory for each function, which uses the runtime's boto3."""
