"""A training job of SageMaker."""

from llm_fleet.config.named import NamedModel


class TrainingJobConfig(NamedModel):
    """A training job that can be started again and again; its key is its name."""
