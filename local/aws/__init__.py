"""An AWS emulator: a CloudFormation of our own in front of moto's service APIs. Not in the wheel."""
