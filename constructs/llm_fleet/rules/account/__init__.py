"""Rules about what an AWS account has: values in, problems out. Nothing here calls AWS."""
