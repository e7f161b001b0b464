"""Reads CloudFormation templates: parses sections, evaluates intrinsic functions, orders resources by references."""
