"""A node as AWS tells of it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class NodeRole(StrEnum):
    """What a node is for."""

    CONTROLLER = "controller"
    LOGIN = "login"
    HEAD = "head"
    COMPUTE = "compute"
    HOST = "host"
    """An instance under an inference service."""
    TASK = "task"
    """A task of an inference service: no machine, and yet something to look into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node of a cluster, or one host or task of a service. What AWS does not tell is `None`."""

    group: str
    """Instance group, queue or login pool; of a head node `head`; of a service `host` or `task`."""
    index: int
    """Its place in the group, from 1, in the order in which they were launched."""
    status: str
    """In AWS's words: of HyperPod `Running`, `Failure` …; of EC2 `running` …; of ECS `ACTIVE`, `RUNNING` …"""
    running: bool
    """Whether AWS says that it is up."""
    role: NodeRole | None = None
    instance_id: str | None = None
    """`None` before HyperPod has found a machine for it."""
    logical_id: str | None = None
    """HyperPod's, from the request for it to its end; of a task its id."""
    name: str | None = None
    """What Slurm calls it, e.g. `ip-10-1-2-3`."""
    message: str = ""
    """What AWS says of the status."""
    instance_type: str | None = None
    launched: datetime | None = None
    zone: str | None = None
    """Name of the AZ. ListClusterNodes does not tell it."""
    address: str | None = None
    """Private IPv4 address."""
    target: str | None = None
    """What Session Manager calls it; `None` where it does not reach."""
    task_arn: str | None = None
    """Of a task in which people may run commands (ECS Exec)."""

    @property
    def label(self) -> str:
        """What people call it, e.g. `trn1-3`."""
        return f"{self.group}-{self.index}"

    def told(self) -> dict[str, Any]:
        """Return it for `--json`, without what nobody knows."""
        fields = {name: getattr(self, name) for name in self.__slots__ if name != "running"}
        return {"label": self.label} | {name: value for name, value in fields.items() if value not in (None, "")}
