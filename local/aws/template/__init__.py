"""Reads CloudFormation templates: text to sections, intrinsic functions to values, references to an order."""
