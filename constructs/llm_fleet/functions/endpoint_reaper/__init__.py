"""A Lambda function that deletes an endpoint of SageMaker when its time has come, with configuration and model."""
