"""Throwaway nodes with a real systemd and their own root, address and processes: one interface, two back ends."""
