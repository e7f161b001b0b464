"""A Lambda function that deletes a SageMaker endpoint after its time to live, with configuration and model."""
