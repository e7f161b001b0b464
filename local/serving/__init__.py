"""Serves on one machine what a synthesized template would serve on AWS. Not in the wheel.

Stand-ins of the model servers behind a stand-in of the load balancer.
"""
