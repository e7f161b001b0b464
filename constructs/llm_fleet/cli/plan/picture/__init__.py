"""The picture of the architecture, drawn from a synthesized cloud assembly alone: no CDK, no account."""
