"""SageMaker constructs except HyperPod clusters: notebooks, Studio, endpoints, training jobs and their watch."""
