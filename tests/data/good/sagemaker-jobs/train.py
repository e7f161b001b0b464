"""Trains nothing: the source of the training jobs next to it."""

print("loss=1.0")
