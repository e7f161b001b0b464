"""What a host of an inference service does on every boot, before it may join its ECS cluster."""
