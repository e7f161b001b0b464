"""Reads what a template says of a service and of the load balancer in front of it."""
