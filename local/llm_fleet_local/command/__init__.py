"""`llm-fleet local`: deploys a fleet to the AWS emulator with the real CDK CLI, and lists the resources."""
