"""What a node needs to prove itself again after a reboot."""
