"""A cluster checked and with every default filled in, before any resource of it exists."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.catalog.data_file import load
from llm_fleet.lifecycle.node_setup import check_nodes
from llm_fleet.lifecycle.script_folder import default_folder
from llm_fleet.named_files.named_file import files_of
from llm_fleet.network.network import Network
from llm_fleet.rules.addresses import AddressClaim
from llm_fleet.rules.bundle import check_scripts_place
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod.group_updates import check_cloudformation
from llm_fleet.rules.hyperpod.hyperpod_cluster import check_cluster, check_legacy
from llm_fleet.rules.hyperpod.instance_group import check_group_name
from llm_fleet.rules.people import check_hyperpod_enforces
from llm_fleet.rules.problem import FleetError, Problem, is_unresolved, raise_problems
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.training.environment_place import SharedFolder, TrainingPlace
from llm_fleet.spec.cluster import LifecycleScripts, NodeMount
from llm_fleet.spec.hyperpod_cluster import HyperPodClusterSpec, PlacedCluster
from llm_fleet.spec.instance_group import InstanceGroup
from llm_fleet.spec.references import BUCKET
from llm_fleet.storage.file_systems import MountableLustre, MountableOpenZfs


def cluster_problems(cluster: PlacedCluster) -> list[Problem]:
    """Return all problems of `cluster`."""
    scripts = cluster.spec.scripts
    problems = [problem for problem in check_cluster(cluster) if not _follows_name(problem, cluster)]
    for group in cluster.groups:
        problems += [problem.under("groups", group.name) for problem in check_cloudformation(group)]
    if scripts.legacy:
        problems += check_legacy(cluster)
    problems += [problem.under("scripts") for problem in check_scripts_place(scripts)]
    if scripts.prefix is None:
        problems += _files(cluster)
    return problems


def _follows_name(problem: Problem, cluster: PlacedCluster) -> bool:
    """Whether a partition is misnamed because its group is: `InstanceGroup.workers` gives it the group's name."""
    if problem.code is not Code.PARTITION_NAME:
        return False
    return any(
        problem.path == ("groups", group.name, "partition")
        and group.partition == group.name
        and check_group_name(group)
        for group in cluster.groups
    )


def _files(cluster: PlacedCluster) -> list[Problem]:
    """Report scripts that a group runs and that the folder to upload lacks; those of the whole cluster only once."""
    scripts = cluster.spec.scripts
    folder = scripts.scripts_path or default_folder()
    of_cluster = ("scripts", "scripts" if scripts.entry_point is None else "entry_point")
    hook = cluster.spec.lifecycle.hook
    own = scripts.entry_point or (load("lifecycle")["entry_points"][hook] if hook else None)
    missing = [
        replace(problem, path=of_cluster) if problem.value == own else problem for problem in _missing(cluster, folder)
    ]
    return list({problem.path: problem for problem in missing}.values())


def _missing(cluster: PlacedCluster, folder: Path) -> Iterator[Problem]:
    for group in cluster.groups:
        if group.on_create is not None and group.on_init_complete is not None:
            continue  # The user must decide first which of them to remove.
        for field in ("on_create", "on_init_complete"):
            name = getattr(group, field)
            if name is not None and not is_unresolved(name) and not (folder / name).is_file():
                yield Problem(
                    code=Code.BUNDLE_ENTRY_MISSING,
                    message="the script is missing in the uploaded scripts",
                    path=("groups", group.name, field),
                    value=name,
                    remedy=f"add it to {folder}, or set its location with LifecycleScripts(bucket=…, prefix=…)",
                )


def node_problems(cluster: PlacedCluster, *, internet: bool) -> list[Problem]:
    """Return all problems of the software and users of the nodes of `cluster`; `internet`: whether they reach it."""
    spec = cluster.spec
    shared = [
        SharedFolder(kind=mount.kind, path=mount.mount_path, groups=mount.groups) for mount in cluster.node_mounts
    ]
    files = files_of(spec.downloads)
    place = TrainingPlace.of(spec, cluster.node_groups, shared, files=files, region=cluster.region, internet=internet)
    return [
        *check_nodes(
            spec,
            spec.scripts,
            place,
            mount_paths=[mount.mount_path for mount in cluster.mounts],
            has_accounting=True,
            on_parallelcluster=False,
        ),
        *(check_hyperpod_enforces(spec.controller_hook, spec.slurm_config_strategy) if spec.slurm_accounts else ()),
    ]


def resolve_groups(
    spec: HyperPodClusterSpec, *, network: Network | None, availability_zone_id: str | None
) -> tuple[list[InstanceGroup], list[Problem]]:
    """Return groups in their order with scripts, AZs and subnets filled in, and the AZs that the network lacks."""
    resolved: list[InstanceGroup] = []
    problems: list[Problem] = []
    for group in spec.running_groups:
        try:
            group = _with_subnets(group, network, availability_zone_id)
        except FleetError as error:
            path = ("groups", group.name, "availability_zone_id")
            problems += [replace(problem, path=path) for problem in error.problems]
        resolved.append(group)
    return resolved, problems


def claims(groups: Sequence[InstanceGroup], *, cluster: str) -> list[AddressClaim]:
    """Return the IP addresses that resolved `groups` use in the network's compute subnets."""
    return [
        AddressClaim.for_instances(
            owner=f"{cluster}/{group.name}",
            instance_types=group.instance_types or group.instance_type or (),
            count=max(group.count, 0),
            availability_zone_id=group.availability_zone_id,
        )
        for group in groups
        # A group that sets subnets but no AZ is outside the network's own subnets.
        if group.availability_zone_id is not None
    ]


def _with_subnets(group: InstanceGroup, network: Network | None, cluster_zone: str | None) -> InstanceGroup:
    """Give `group` its AZ, and both subnets and security groups where either is not the cluster's."""
    if network is None:
        return group
    if group.availability_zone_id is None and not group.subnets:
        group = group.model_copy(update={"availability_zone_id": cluster_zone})
    subnets: Sequence[Any] = group.subnets
    if not subnets and (group.security_groups or group.availability_zone_id != cluster_zone):
        subnets = (network.compute_subnet(group.availability_zone_id),)
    if not subnets:
        return group
    security_groups = group.security_groups or (network.security_group,)
    return group.model_copy(update={"subnets": subnets, "security_groups": security_groups})


_NAME_LENGTH = 63
"""ClusterName's limit, for the generated name; the rules check a name of the user's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """A checked cluster, and the constructs that it will be connected to."""

    shape: PlacedCluster
    cluster_name: str
    fleet_name: str
    network: Network | None
    lustre: MountableLustre | None
    open_zfs: MountableOpenZfs | None

    @property
    def spec(self) -> HyperPodClusterSpec:
        """The cluster alone, with every default filled in."""
        return self.shape.spec

    @classmethod
    def make(
        cls,
        scope: Construct,
        *,
        spec: HyperPodClusterSpec,
        network: Network | None,
        fleet_name: str | None,
        lustre: MountableLustre | None,
        lustre_mount_path: str,
        open_zfs: MountableOpenZfs | None,
        open_zfs_mount_path: str,
    ) -> "ClusterPlan":
        """Return the plan of the cluster at `scope`; raise `FleetError` with all its problems."""
        stack = cdk.Stack.of(scope)
        name = spec.cluster_name or cdk.Names.unique_resource_name(scope, max_length=_NAME_LENGTH, separator="-")
        zone = spec.availability_zone_id or _zone(network, lustre)
        subnet_ids, problems = _subnet_ids(network, zone)
        resolved, found = resolve_groups(spec, network=network, availability_zone_id=zone)
        problems += found
        shape = PlacedCluster(
            spec=spec.model_copy(
                update={
                    "cluster_name": name,
                    "availability_zone_id": zone,
                    "groups": resolved,
                    "slurm_config_strategy": spec.effective_strategy,
                }
            ),
            region=stack.region,
            account=stack.account,
            has_vpc=network is not None,
            subnet_ids=subnet_ids,
            security_group_ids=(network.security_group.security_group_id,) if network else (),
            mounts=tuple(_mounts(lustre, lustre_mount_path, open_zfs, open_zfs_mount_path)),
            lifecycle_source_s3_uri=_source(spec.scripts),
        )
        problems += cluster_problems(shape)
        internet = network is None or network.internet is not InternetAccess.NONE
        problems += node_problems(shape, internet=internet)
        if network is not None and not problems:
            # Only a valid cluster reserves addresses: a second try must not find those of the first.
            problems += network.reserve_addresses(claims(resolved, cluster=scope.node.id))
        raise_problems(problems, subject=scope.node.path)
        return cls(
            shape=shape,
            cluster_name=name,
            fleet_name=fleet_name or name,
            network=network,
            lustre=lustre,
            open_zfs=open_zfs,
        )


def _zone(network: Network | None, lustre: MountableLustre | None) -> str | None:
    """The default AZ: that of the cluster's data, so that training does not read across AZs."""
    if network is None:
        return None
    zone = lustre.availability_zone_id if lustre else None
    return zone if zone in network.availability_zone_ids else network.availability_zone_ids[0]


def _subnet_ids(network: Network | None, zone: str | None) -> tuple[tuple[str, ...], list[Problem]]:
    """Return the subnet of the cluster, or the network's error that it has none in that AZ."""
    if network is None:
        return (), []
    try:
        return (network.compute_subnet(zone).subnet_id,), []
    except FleetError as error:
        return (), [replace(problem, path=("availability_zone_id",)) for problem in error.problems]


def _source(scripts: LifecycleScripts) -> str:
    """The S3 location of the scripts before the bundle is created; a token when llm-fleet creates the bucket."""
    bucket = cdk.Aws.STACK_ID if scripts.bucket is None else BUCKET.name_of(scripts.bucket)
    return f"s3://{bucket}/{(scripts.prefix or '').strip('/')}"


def _mounts(
    lustre: MountableLustre | None, lustre_path: str, open_zfs: MountableOpenZfs | None, open_zfs_path: str
) -> list[NodeMount]:
    mounts: list[NodeMount] = []
    if lustre is not None:
        mounts.append(
            NodeMount(
                kind="lustre",
                dns_name=lustre.dns_name,
                mount_name=lustre.mount_name,
                mount_path=lustre_path,
                availability_zone_id=lustre.availability_zone_id,
                efa=lustre.efa_enabled,
            )
        )
    if open_zfs is not None:
        mounts.append(
            NodeMount(
                kind="open_zfs",
                dns_name=open_zfs.dns_name,
                mount_path=open_zfs_path,
                availability_zone_id=open_zfs.availability_zone_id,
            )
        )
    return mounts
