"""A file system of the fleet file as the rules of HyperPod see it."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class MountView:
    """A file system that the nodes mount (`MountLike`)."""

    kind: Literal["lustre", "open_zfs"]
    mount_path: str
    availability_zone_id: str | None
