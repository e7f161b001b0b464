"""Runs in Lambda while a stack is deployed: puts a lifecycle bundle in its bucket. Standard library and boto3 only."""
