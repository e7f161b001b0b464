"""The SageMaker pieces of a fleet file: notebooks, Studio, endpoints, training jobs and their watch."""
