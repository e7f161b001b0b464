"""What a cluster stands on: file systems, made elsewhere and handed over by id, and the subnets of its nodes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aws_cdk import aws_ec2 as ec2

from llm_fleet.network.network import Network
from llm_fleet.rules.codes import Code
from llm_fleet.rules.manifest import check_mount
from llm_fleet.rules.problem import FleetError, PathPart, Problem
from llm_fleet.spec.cluster import NodeMount
from llm_fleet.spec.parallelcluster_nodes import HeadNode, LoginPool
from llm_fleet.spec.parallelcluster_queue import Queue
from llm_fleet.spec.parallelcluster_storage import SharedStorage
from llm_fleet.storage.file_systems import MountableLustre, MountableOpenZfs

_LUSTRE = "fsx"
_OPEN_ZFS = "home"
"""Their names in `SharedStorage`; a changed one is another mount."""
_PARAMETERS: dict[tuple[PathPart, ...], tuple[PathPart, ...]] = {
    ("shared_storage", _LUSTRE, "mount_dir"): ("lustre_mount_path",),
    ("shared_storage", _OPEN_ZFS, "mount_dir"): ("open_zfs_mount_path",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetMounts:
    """The fleet's file systems that a cluster mounts, and where."""

    lustre: MountableLustre | None
    lustre_mount_path: str
    open_zfs: MountableOpenZfs | None
    open_zfs_mount_path: str

    @property
    def file_systems(self) -> tuple[MountableLustre | MountableOpenZfs, ...]:
        """Those that there are."""
        return tuple(known for known in (self.lustre, self.open_zfs) if known is not None)

    def shared_storage(self) -> tuple[list[SharedStorage], list[Problem]]:
        """Return what ParallelCluster mounts, and what keeps it from mounting the rest."""
        mounted: list[SharedStorage] = []
        problems = [*self._without_volume(), *self._paths()]
        for name in (_LUSTRE, _OPEN_ZFS):
            try:
                mounted += self._storage(name)
            except FleetError as error:
                problems += [problem.under("shared_storage", name) for problem in error.problems]
        return mounted, problems

    def node_mounts(self) -> list[NodeMount]:
        """Return what nodes are told of them."""
        mounts: list[NodeMount] = []
        if self.lustre is not None:
            mounts.append(
                NodeMount(
                    kind="lustre",
                    dns_name=self.lustre.dns_name,
                    mount_path=self.lustre_mount_path,
                    mount_name=self.lustre.mount_name,
                    efa=self.lustre.efa_enabled,
                )
            )
        if self.open_zfs is not None:
            mounts.append(
                NodeMount(kind="open_zfs", dns_name=self.open_zfs.dns_name, mount_path=self.open_zfs_mount_path)
            )
        return mounts

    def _storage(self, name: str) -> Iterator[SharedStorage]:
        if name == _LUSTRE and self.lustre is not None:
            yield SharedStorage.lustre(
                name, mount_dir=self.lustre_mount_path, file_system_id=self.lustre.file_system_id
            )
        if name == _OPEN_ZFS and self.open_zfs is not None and self.open_zfs.volume_id is not None:
            yield SharedStorage.open_zfs(name, mount_dir=self.open_zfs_mount_path, volume_id=self.open_zfs.volume_id)

    def _without_volume(self) -> Iterator[Problem]:
        if self.open_zfs is not None and self.open_zfs.volume_id is None:
            yield Problem(
                code=Code.PC_OPEN_ZFS_VOLUME,
                message="ParallelCluster mounts OpenZFS by a volume, and nobody told which",
                path=("open_zfs", "volume_id"),
                remedy="give from_attributes the volume_id, as `aws fsx describe-volumes` shows it ('fsvol-…')",
            )

    def _paths(self) -> Iterator[Problem]:
        """Nodes want whole paths; ParallelCluster alone would put a slash before half a one."""
        names = {"lustre": _LUSTRE, "open_zfs": _OPEN_ZFS}
        for mount in self.node_mounts():
            yield from (
                replace(problem, path=("shared_storage", names[mount.kind], "mount_dir"))
                for problem in check_mount(mount)
            )


def by_parameter(problems: Sequence[Problem]) -> list[Problem]:
    """Return `problems` with those of the fleet's mounts at the parameters that the user gave, each once."""
    told = [replace(problem, path=_PARAMETERS.get(problem.path, problem.path)) for problem in problems]
    return list({(problem.code, problem.path, problem.message): problem for problem in told}.values())


def resolve_head_node(head_node: HeadNode, network: Network, subnet: ec2.ISubnet | None) -> HeadNode:
    """Return `head_node` in `subnet`, unless it has one, and in the network's security group."""
    return head_node.model_copy(
        update={
            "subnet": head_node.subnet or subnet,
            "security_groups": (network.security_group, *head_node.security_groups),
        }
    )


def resolve_pool(pool: LoginPool, network: Network, subnet: Any) -> LoginPool:
    """Return `pool` in `subnet`, unless it has one, and in the network's security group."""
    security_groups = (network.security_group, *pool.security_groups)
    return pool.model_copy(update={"subnet": pool.subnet or subnet, "security_groups": security_groups})


def resolve_queues(
    queues: Sequence[Queue], network: Network, *, zone: str | None
) -> tuple[tuple[Queue, ...], list[Problem]]:
    """Return `queues` with AZs, subnets and security groups filled in, and the AZs that the network lacks.

    `zone` is the cluster's AZ.
    """
    resolved: list[Queue] = []
    problems: list[Problem] = []
    for queue in queues:
        if not queue.subnets:
            queue = queue.model_copy(update={"availability_zone_id": queue.availability_zone_id or zone})
            try:
                subnet = network.compute_subnet(queue.availability_zone_id)
                queue = queue.model_copy(update={"subnets": (subnet,)})
            except FleetError as error:
                path = ("queues", queue.name, "availability_zone_id")
                problems += [replace(problem, path=path) for problem in error.problems]
        security_groups = (network.security_group, *queue.security_groups)
        resolved.append(queue.model_copy(update={"security_groups": security_groups}))
    return tuple(resolved), problems
