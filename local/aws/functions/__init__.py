"""Lambda functions of the AWS emulator, run as processes of this machine."""
