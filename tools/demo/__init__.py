"""`make demo`: deploys a fleet to a local emulation with the real CDK CLI, and lists the resources."""
