"""The package that a node runs when it starts. Standard library only, Python 3.9 to 3.13, without the CDK."""
