"""Emulators of AWS on this machine: the AWS emulator, model servers, nodes, ParallelCluster's own code.

Nothing here is in the wheel, and no construct, stack or node script imports it.
"""
