"""Layer 4: stacks that only compose constructs; long-lived and short-lived stacks are separate."""
