"""Node metrics, collected each minute and sent to CloudWatch or Prometheus.

This package runs as a separate program, from a copy outside of the bundle, so it imports no other package.
"""
