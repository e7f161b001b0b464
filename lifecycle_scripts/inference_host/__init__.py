"""Checks of an inference host on every boot, before it can join its ECS cluster."""
