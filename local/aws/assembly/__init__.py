"""Deploys what `cdk synth` wrote, without the CDK CLI."""
