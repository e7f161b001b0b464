"""What runs as a Lambda function of ours: one folder a function, complete in itself, with the runtime's own boto3."""
