"""Emulators of AWS on this machine: the AWS emulator, model servers, nodes, ParallelCluster's own code.

Only the drill's scenarios are not in the wheel. No construct, stack or node script imports this package.
"""
