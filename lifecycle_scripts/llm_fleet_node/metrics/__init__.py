"""What a node measures of itself each minute, and sends to CloudWatch or Prometheus.

This folder runs as a program of its own, from a copy outside of the bundle, so it imports nothing of the others.
"""
