"""Runs in Lambda while a stack is deployed: is the model there, and compiled for its server? boto3 and stdlib only."""
