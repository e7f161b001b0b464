"""A checked ParallelCluster before its resources exist: storage, nodes and name."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.catalog.nodes import slurm_limit_facts
from llm_fleet.lifecycle.node_setup import check_nodes
from llm_fleet.lifecycle.people import counted_resources, sssd_options
from llm_fleet.named_files.named_file import files_of
from llm_fleet.network.network import Network
from llm_fleet.parallelcluster.render_configuration import render_configuration
from llm_fleet.rules.codes import Code
from llm_fleet.rules.node_setup import check_mount
from llm_fleet.rules.parallelcluster.cluster_names import check_prefix_path
from llm_fleet.rules.parallelcluster.configuration import check_configuration, check_plain_values
from llm_fleet.rules.parallelcluster.node_network import address_claims, check_place
from llm_fleet.rules.parallelcluster.nodes import node_groups, shared_folder
from llm_fleet.rules.parallelcluster.parallelcluster import check_parallelcluster
from llm_fleet.rules.people import check_parallelcluster_enforces, directory_twice
from llm_fleet.rules.problem import FleetError, PathPart, Problem, raise_problems
from llm_fleet.rules.slurm_database import keeps_records
from llm_fleet.rules.training.environment_place import SharedFolder, TrainingPlace
from llm_fleet.spec.cluster import NodeMount, NodeScripts
from llm_fleet.spec.parallelcluster import ParallelClusterSpec, PlacedParallelCluster, SharedStorage, SlurmSettings
from llm_fleet.spec.parallelcluster_nodes import HeadNode, LoginPool
from llm_fleet.spec.parallelcluster_queue import Queue
from llm_fleet.spec.people import Directory, SlurmAccount
from llm_fleet.spec.references import POLICY
from llm_fleet.storage.file_systems import MountableLustre, MountableOpenZfs

_LUSTRE = "fsx"
_OPEN_ZFS = "home"
"""Their names in `SharedStorage`; another name is another mount."""
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
        """The mounts that are set."""
        return tuple(known for known in (self.lustre, self.open_zfs) if known is not None)

    def shared_storage(self) -> tuple[list[SharedStorage], list[Problem]]:
        """Return the file systems that ParallelCluster mounts, and the problems of the others."""
        mounted: list[SharedStorage] = []
        problems = [*self._without_volume(), *self._paths()]
        for name in (_LUSTRE, _OPEN_ZFS):
            try:
                mounted += self._storage(name)
            except FleetError as error:
                problems += [problem.under("shared_storage", name) for problem in error.problems]
        return mounted, problems

    def node_mounts(self) -> list[NodeMount]:
        """Return their mounts for the nodes' configuration."""
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
                message="ParallelCluster mounts an OpenZFS volume, and `volume_id` is not set",
                path=("open_zfs", "volume_id"),
                remedy="pass `volume_id` to from_attributes, as `aws fsx describe-volumes` shows it ('fsvol-…')",
            )

    def _paths(self) -> Iterator[Problem]:
        """Nodes require absolute paths; ParallelCluster would only prepend a slash to a relative one."""
        names = {"lustre": _LUSTRE, "open_zfs": _OPEN_ZFS}
        for mount in self.node_mounts():
            yield from (
                replace(problem, path=("shared_storage", names[mount.kind], "mount_dir"))
                for problem in check_mount(mount)
            )


def by_parameter(problems: Sequence[Problem]) -> list[Problem]:
    """Return `problems`, with those of the fleet's mounts at the parameters that the user set, without duplicates."""
    reported = [replace(problem, path=_PARAMETERS.get(problem.path, problem.path)) for problem in problems]
    return list({(problem.code, problem.path, problem.message): problem for problem in reported}.values())


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


_SECTION = "DirectoryService"
_ENFORCE, _COUNTED = "AccountingStorageEnforce", "AccountingStorageTRES"


def directory_overrides(overrides: Mapping[str, Any], directory: Directory | None) -> dict[str, Any]:
    """Return `overrides` with the section `DirectoryService` of `directory`; one of the user's own stays."""
    if directory is None or _SECTION in overrides:
        return dict(overrides)
    return {**overrides, _SECTION: directory_section(directory)}


def iam_overrides(spec: ParallelClusterSpec) -> dict[str, Any]:
    """Return the overrides of `spec` with the section `Iam` for its roles; the user's own settings stay."""
    section: dict[str, Any] = {}
    if spec.permissions_boundary is not None:
        section["PermissionsBoundary"] = POLICY.name_of(spec.permissions_boundary)
    if spec.iam_resource_prefix is not None:
        section["ResourcePrefix"] = spec.iam_resource_prefix
    if not section:
        return dict(spec.overrides)
    return {**spec.overrides, "Iam": {**spec.overrides.get("Iam", {}), **section}}


def reports_directory_twice(overrides: Mapping[str, Any], directory: Directory | None) -> bool:
    """Return whether `overrides` have the user's own section in addition to `directory`."""
    return directory is not None and overrides.get(_SECTION) != directory_section(directory)


def directory_section(directory: Directory) -> dict[str, Any]:
    """Return ParallelCluster's section for `directory`."""
    section: dict[str, Any] = {
        "DomainName": directory.domain,
        "DomainAddr": ",".join(directory.uris),
        "PasswordSecretArn": directory.bind_secret_arn,
        "DomainReadOnlyUser": directory.bind_dn,
        "LdapTlsReqCert": "hard",
        "AdditionalSssdConfigs": sssd_options(directory),
    }
    if directory.certificate_on_nodes is not None:
        section["LdapTlsCaCert"] = directory.certificate_on_nodes
    if directory.user_filter is not None:
        section["LdapAccessFilter"] = directory.user_filter
    return section


def with_limits(slurm: SlurmSettings, accounts: Sequence[SlurmAccount]) -> SlurmSettings:
    """Return `slurm` with the lines of slurm.conf that enforce the limits of `accounts`; the user's own lines stay."""
    if not accounts or slurm.custom_settings_file is not None:
        return slurm
    own = {key.lower() for line in slurm.custom_settings for key in line}
    wanted = {_ENFORCE: ",".join(slurm_limit_facts().enforce), _COUNTED: ",".join(counted_resources(accounts))}
    lines = [{key: value} for key, value in wanted.items() if value and key.lower() not in own]
    return slurm.model_copy(update={"custom_settings": (*slurm.custom_settings, *lines)})


def additional_shared_folders(shape: PlacedParallelCluster, mounts: FleetMounts) -> list[SharedFolder]:
    """Return the file systems of the cluster besides those of the fleet: ParallelCluster mounts each on every node."""
    of_fleet = {mount.mount_path for mount in mounts.node_mounts()}
    return [shared_folder(each) for each in shape.shared_storage if each.mount_dir not in of_fleet]


def cluster_problems(shape: PlacedParallelCluster) -> list[Problem]:
    """Return all problems of `shape` and of its nodes' software and users."""
    place = TrainingPlace.of(
        shape,
        node_groups(shape),
        [shared_folder(each) for each in shape.shared_storage],
        files=files_of(shape.downloads),
        region=shape.region,
        os=shape.os,
    )
    return [
        *check_parallelcluster(shape),
        *check_nodes(
            shape,
            shape.scripts or NodeScripts(),
            place,
            mount_paths=[storage.mount_dir for storage in shape.shared_storage],
            has_accounting=keeps_records(shape.accounting),
            on_parallelcluster=True,
        ),
        *_people(shape),
    ]


def _people(shape: PlacedParallelCluster) -> Iterator[Problem]:
    if shape.slurm_accounts:
        yield from check_parallelcluster_enforces(shape.slurm.custom_settings, shape.slurm.custom_settings_file)
    if reports_directory_twice(shape.overrides, shape.directory):
        yield directory_twice("directory")


_NAME_LENGTH = 20
"""Of the generated name. It is part of every host name, and must not change when a queue is added: with the hash
it leaves 24 characters to the names of queue, compute resource and node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """A checked cluster, and the constructs that it will be connected to."""

    shape: PlacedParallelCluster
    fleet_name: str
    network: Network
    mounts: FleetMounts

    @classmethod
    def make(
        cls,
        scope: Construct,
        *,
        spec: ParallelClusterSpec,
        network: Network,
        mounts: FleetMounts,
        fleet_name: str | None,
    ) -> "ClusterPlan":
        """Return the plan of the cluster at `scope`; raise `FleetError` with all its problems."""
        name = spec.cluster_name or cdk.Names.unique_resource_name(scope, max_length=_NAME_LENGTH, separator="-")
        zone = spec.availability_zone_id or _zone(network, mounts.lustre)
        subnet, problems = _subnet(network, zone)
        queues, found = resolve_queues(spec.queues, network, zone=zone)
        problems += found
        of_fleet, found = mounts.shared_storage()
        problems += found
        shape = spec.narrowed(
            PlacedParallelCluster,
            cluster_name=name,
            region=cdk.Stack.of(scope).region,
            head_node=resolve_head_node(spec.head_node, network, subnet),
            queues=queues,
            login_pools=tuple(
                resolve_pool(pool, network, spec.head_node.subnet or subnet) for pool in spec.login_pools
            ),
            shared_storage=(*of_fleet, *spec.shared_storage),
            slurm=with_limits(spec.slurm, spec.slurm_accounts),
            overrides=directory_overrides(iam_overrides(spec), spec.directory),
        )
        problems += check_prefix_path(spec.iam_resource_prefix, "iam_resource_prefix")
        problems += check_place(has_network=True, internet=network.internet)
        problems += cluster_problems(shape)
        # The schema checks only what the rules accept: otherwise both would report most mistakes.
        problems = problems or _rendered_problems(shape)
        if not problems:
            # Only a valid cluster reserves addresses: a second try must not find those of the first.
            problems += network.reserve_addresses(
                address_claims(
                    head_node=spec.head_node,
                    queues=queues,
                    login_pools=spec.login_pools,
                    owner=scope.node.id,
                    zone=zone,
                    efa_with_address=shape.efa_with_address,
                )
            )
        raise_problems(by_parameter(problems), subject=scope.node.path)
        return cls(
            shape=shape,
            fleet_name=fleet_name or name,
            network=network,
            mounts=mounts,
        )


def _rendered_problems(shape: PlacedParallelCluster) -> list[Problem]:
    configuration = render_configuration(shape)
    return [*check_plain_values(configuration), *check_configuration(configuration)]


def _zone(network: Network, lustre: MountableLustre | None) -> str:
    """The default AZ: that of the cluster's data, so that training does not read across AZs."""
    zone = lustre.availability_zone_id if lustre else None
    return zone if zone is not None and zone in network.availability_zone_ids else network.availability_zone_ids[0]


def _subnet(network: Network, zone: str) -> tuple[ec2.ISubnet | None, list[Problem]]:
    """Return the subnet of the cluster, or the network's error that it has none in that AZ."""
    try:
        return network.compute_subnet(zone), []
    except FleetError as error:
        return None, [replace(problem, path=("availability_zone_id",)) for problem in error.problems]
