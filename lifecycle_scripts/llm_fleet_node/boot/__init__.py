"""Verification of the node again after a reboot, and its logs."""
