"""What a fleet takes of an account: instances, addresses, interfaces, money. Known before it is deployed."""
