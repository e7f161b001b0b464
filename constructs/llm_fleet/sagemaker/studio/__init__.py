"""SageMaker Studio."""
