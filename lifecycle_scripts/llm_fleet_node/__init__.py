"""What a node runs when it starts. Standard library only, Python 3.9 to 3.13, knows nothing of the CDK."""
