"""Lambda functions of the AWS emulator, run as processes on this machine."""
