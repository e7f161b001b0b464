"""Layer 1: pure functions that take values and return problems. No CDK, no AWS calls, no I/O."""
