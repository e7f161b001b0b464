"""What a fleet needs of an account, before deployment: instances, addresses, network interfaces, costs."""
