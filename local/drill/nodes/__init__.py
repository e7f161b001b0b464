"""Throwaway nodes with a real systemd, their own root, address and processes: one interface, two back ends."""
