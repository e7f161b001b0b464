"""Floor 1: pure functions, value in, list of problems out. No CDK, no AWS, no I/O."""
