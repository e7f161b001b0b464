"""Accelerators and EFA interfaces: how many there should be, and how many there are."""
