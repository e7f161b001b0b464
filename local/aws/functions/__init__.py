"""Lambda functions of the emulation, run as processes of this machine."""
