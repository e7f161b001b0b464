"""The train loop and what it keeps beside it. Knows backends only by their protocol."""
