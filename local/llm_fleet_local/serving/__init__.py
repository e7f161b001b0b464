"""Runs the inference service of a synthesized template on this machine. Not in the wheel.

Stand-ins of the model servers behind a stand-in of the load balancer.
"""
