"""An endpoint of SageMaker."""

from llm_fleet.config.named import NamedModel


class EndpointConfig(NamedModel):
    """A model behind an endpoint of SageMaker; its key is its name."""
