"""`make demo`: a fleet deployed to a local emulation by the real CDK CLI, and what then exists."""
