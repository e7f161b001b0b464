"""A cluster as its AWS service describes it: the input of the emulated platforms."""

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Group:
    """One instance group."""

    name: str
    role: str
    """`Controller`, `Login` or `Compute`."""
    instance_type: str
    partitions: tuple[str, ...]
    hook: str | None
    """`OnCreate` or `OnInitComplete`; `None` when the group runs no script."""
    script: str | None
    source_s3_uri: str | None
    storage: tuple[dict[str, Any], ...] = ()
    """`InstanceStorageConfigs`, as the service returns them."""


@dataclass(frozen=True)
class Instance:
    """One node.

    Source: assumption hyperpod-agent-files
    """

    name: str
    """`<group>-<n>`."""
    group: str
    instance_id: str
    address: str
    host_name: str
    """`ip-A-B-C-D`: also its name in Slurm."""

    @property
    def number(self) -> int:
        """Its number within its group, from 1."""
        return int(self.name.rsplit("-", 1)[1])

    @property
    def agent_address(self) -> str:
        """Address in the network of the AWS service, which only the agents of the service use."""
        first, second = divmod(int(self.address.rsplit(".", 1)[1]) + 256 * self.number, 256)
        return f"172.31.{first % 256}.{second}"


@dataclass(frozen=True)
class FileSystem:
    """A file system that nodes mount."""

    kind: str
    """`LUSTRE` or `OPENZFS`."""
    dns_name: str
    mount_name: str | None
    id: str = ""
    """Its id in ParallelCluster: the file system's id, for OpenZFS the root volume's."""


@dataclass(frozen=True)
class ClusterView:
    """One cluster with all its nodes."""

    name: str
    arn: str
    region: str
    groups: tuple[Group, ...]
    instances: tuple[Instance, ...]

    def group(self, name: str) -> Group:
        """Return the group called `name`. Raises `KeyError`."""
        return {group.name: group for group in self.groups}[name]

    def of_role(self, role: str) -> list[Instance]:
        """Return the nodes of `role`."""
        return [one for one in self.instances if self.group(one.group).role == role]

    @property
    def controller(self) -> Instance:
        """The one controller. Raises `IndexError` in a cluster without."""
        return self.of_role("Controller")[0]

    def with_instance(self, instance: Instance) -> "ClusterView":
        """Return the same cluster with `instance` in place of the one of that name."""
        return replace(self, instances=tuple(instance if one.name == instance.name else one for one in self.instances))
