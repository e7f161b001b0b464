"""A notebook instance of SageMaker."""

from llm_fleet.config.named import NamedModel


class NotebookConfig(NamedModel):
    """A notebook instance; its key is its name."""
