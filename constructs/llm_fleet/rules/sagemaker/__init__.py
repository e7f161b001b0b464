"""Rules for SageMaker resources besides clusters: notebooks, Studio, endpoints, training jobs and their watch."""
