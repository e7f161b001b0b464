"""A volume of the fleet's OpenZFS file system beside the home directories."""

from pydantic import Field

from llm_fleet.spec.model import NamedModel
from llm_fleet.spec.values import Gibibytes


class OpenZfsVolumeConfig(NamedModel):
    """A volume of the fleet's OpenZFS file system, kept when the fleet goes. Its key is its name.

    Under another key it is another volume, and empty.
    """

    mount_path: str = Field(alias="mount", examples=["/apps"])
    """Where the nodes of every ParallelCluster mount it. HyperPod's nodes do not."""
    quota_gib: Gibibytes | None = Field(default=None, alias="quota")
    """How much of the file system it may take, e.g. `200 GiB`. Default: all that is free."""
