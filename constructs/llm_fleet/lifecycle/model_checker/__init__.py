"""Runs in Lambda at deployment: checks a service's model. boto3 and the standard library only."""
