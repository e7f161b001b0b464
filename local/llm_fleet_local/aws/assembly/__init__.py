"""Deploys a cloud assembly (the output of `cdk synth`) without the CDK CLI."""
