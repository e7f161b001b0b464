"""What ECS does with tasks: starts the server's container and stops it in order."""
