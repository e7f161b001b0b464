"""The Neuron SDK of a cluster's hosts."""

from typing import Literal

from pydantic import Field

from llm_fleet.spec.model import FleetModel


class NeuronConfig(FleetModel):
    """The release of the AWS Neuron SDK that hosts carry. The Python stack is that of your containers."""

    release: str = Field(examples=["2.28.1"])
    """The release, in quotes, e.g. `"2.28.1"`."""
    host: Literal["verify", "install"] = "verify"
    """`verify` compares what the image carries, `install` adds what it lacks from `downloads`. Default: `verify`."""

    @property
    def install(self) -> bool:
        """Whether nodes install what their image lacks."""
        return self.host == "install"
