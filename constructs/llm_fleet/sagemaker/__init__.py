"""The SageMaker pieces around clusters: notebooks, Studio, endpoints, training jobs and their watch."""
