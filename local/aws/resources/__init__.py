"""What creates resources: tables of types in front of the emulated services' own APIs."""
