"""An AWS emulator: its own CloudFormation in front of moto's service APIs. Not in the wheel."""
