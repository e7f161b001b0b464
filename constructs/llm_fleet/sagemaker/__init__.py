"""SageMaker constructs besides HyperPod clusters: notebooks, Studio, endpoints, training jobs and their watch."""
