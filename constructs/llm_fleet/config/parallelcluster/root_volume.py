"""The root volume of a ParallelCluster's node."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import SIZE, Gibibytes, MebibytesPerSecond


class RootVolumeConfig(FleetModel):
    """The root volume of a node. `root_volume: 200 GiB` is short for one of that size."""

    other_words: ClassVar[Mapping[str, str]] = {"Size": "write `size`, with its unit", "VolumeType": "write `type`"}

    size_gib: Gibibytes | None = Field(default=None, alias="size")
    """Its size, e.g. `200 GiB`. Default: as ParallelCluster has it, at least as large as the image."""
    volume_type: str | None = Field(default=None, alias="type")
    """EBS volume type, e.g. `gp3`. Default: `gp3`."""
    iops: int | None = None
    """Provisioned operations a second, for gp3, io1 and io2. Default: what comes with the volume."""
    throughput_mib_s: MebibytesPerSecond | None = Field(default=None, alias="throughput")
    """Provisioned throughput of a gp3, e.g. `250 MiB/s`. Default: what comes with the volume."""
    encrypted: bool | None = None
    """Whether it is encrypted. Default: yes."""


def or_size(schema: dict[str, Any]) -> None:
    """Let a bare size stand for the mapping too: `short_forms` reads it as one."""
    schema["anyOf"] = [arm if arm.get("type") != "null" else SIZE.json_schema() for arm in schema["anyOf"]]
