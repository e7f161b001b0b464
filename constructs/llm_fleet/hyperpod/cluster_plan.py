"""A cluster checked and with every default filled in, before any resource of it exists."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.hyperpod.lifecycle_scripts import LifecycleScripts
from llm_fleet.lifecycle.node_setup import (
    NodeSetup,
    check_downloads,
    check_node_metrics,
    check_own_step_files,
    check_people_of,
    given_for_nodes,
)
from llm_fleet.lifecycle.script_folder import default_folder
from llm_fleet.lifecycle.training_runtime import files_of
from llm_fleet.network.network import Network
from llm_fleet.rules.addresses import AddressClaim
from llm_fleet.rules.bundle import bucket_name, check_scripts_place
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod.group_updates import check_cloudformation
from llm_fleet.rules.hyperpod.hyperpod_cluster import check_cluster, check_legacy
from llm_fleet.rules.hyperpod.instance_group import check_group_name, check_lifecycle_source
from llm_fleet.rules.node_setup import NodeOfGroup, NodeSettings, check_node_settings, check_nodes_told
from llm_fleet.rules.people import check_hyperpod_enforces
from llm_fleet.rules.problem import FleetError, Problem, raise_problems
from llm_fleet.rules.terms import InternetAccess, NodeType, SlurmConfigStrategy
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.training.environment import check_training
from llm_fleet.rules.training.environment_place import SharedFolder, TrainingGroup, TrainingPlace
from llm_fleet.spec.hyperpod_cluster import HyperPodClusterSpec, Mount, PlacedCluster
from llm_fleet.spec.instance_group import InstanceGroup
from llm_fleet.spec.slurm_database import AccountingDatabase
from llm_fleet.storage.file_systems import MountableLustre, MountableOpenZfs


def cluster_problems(cluster: PlacedCluster, lifecycle: LifecycleScripts | None) -> list[Problem]:
    """Return everything that is wrong with `cluster`."""
    problems = [problem for problem in check_cluster(cluster) if not _follows_name(problem, cluster)]
    for group in cluster.groups:
        problems += [problem.under("groups", group.name) for problem in check_cloudformation(group)]
    if not cluster.api_driven:
        problems += check_legacy(cluster)
    if lifecycle is not None:
        problems += [problem.under("lifecycle") for problem in _scripts(lifecycle)]
        if lifecycle.prefix is None:
            problems += _files(cluster, lifecycle)
    elif any(group.script for group in cluster.groups):
        problems += check_lifecycle_source(None, has_script=True)
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


def _files(cluster: PlacedCluster, lifecycle: LifecycleScripts) -> list[Problem]:
    """Scripts that a group is told to run and that are not in the folder to upload; those of the cluster told once."""
    folder = lifecycle.scripts or default_folder()
    of_cluster = ("lifecycle", "scripts" if lifecycle.entry_point is None else "entry_point")
    missing = [
        replace(problem, path=of_cluster) if problem.value == lifecycle.file_name() else problem
        for problem in _missing(cluster, folder)
    ]
    return list({problem.path: problem for problem in missing}.values())


def _missing(cluster: PlacedCluster, folder: Path) -> Iterator[Problem]:
    for group in cluster.groups:
        if group.on_create is not None and group.on_init_complete is not None:
            continue  # One of them must go: which one is to be decided first.
        for field in ("on_create", "on_init_complete"):
            name = getattr(group, field)
            if name is not None and not is_unresolved(name) and not (folder / name).is_file():
                yield Problem(
                    code=Code.BUNDLE_ENTRY_MISSING,
                    message="the script is not among those that are uploaded",
                    path=("groups", group.name, field),
                    value=name,
                    remedy=f"put it into {folder}, or say with LifecycleScripts(bucket=…, prefix=…) where it lies",
                )


def _scripts(lifecycle: LifecycleScripts) -> Iterator[Problem]:
    if lifecycle.bucket is not None:
        yield from (problem.under("bucket") for problem in bucket_name(lifecycle.bucket.bucket_name))
    yield from check_scripts_place(
        prefix=lifecycle.prefix, has_bucket=lifecycle.bucket is not None, scripts=lifecycle.scripts
    )


_OF_LIFECYCLE = ("skip_steps", "own_steps")


def node_problems(
    cluster: PlacedCluster, setup: NodeSetup, lifecycle: LifecycleScripts | None, *, internet: bool
) -> list[Problem]:
    """Return everything that is wrong with `setup` and with the steps of `lifecycle`; `internet`: nodes reach it."""
    scripts = lifecycle or LifecycleScripts()
    settings = NodeSettings(
        users=setup.users,
        s3_mounts=setup.s3_mounts,
        neuron_release=setup.neuron.release if setup.neuron else None,
        skip_steps=scripts.skip_steps,
        own_steps=scripts.own_steps,
        group_names=[group.name for group in cluster.groups],
        instance_types=[name for group in cluster.groups for name in group.types],
        mount_paths=[mount.mount_path for mount in cluster.mounts],
        nodes=[node for group in cluster.groups for node in _nodes(group)],
    )
    found = [
        *check_node_settings(settings),
        *(problem.under("own_steps") for problem in check_own_step_files(scripts.own_steps, scripts.own_scripts)),
        *check_downloads(setup),
        *check_node_metrics(setup, cluster.region),
        *check_people_of(setup, has_accounting=True, on_parallelcluster=False),
        *(check_hyperpod_enforces(*_slurm_conf(cluster)) if setup.slurm_accounts else ()),
        *_training(cluster, setup, internet),
        *_untold(cluster, setup, lifecycle),
    ]
    return [problem.under("lifecycle") if problem.path[0] in _OF_LIFECYCLE else problem for problem in found]


def _training(cluster: PlacedCluster, setup: NodeSetup, internet: bool) -> list[Problem]:
    if setup.training is None:
        return []
    place = TrainingPlace(
        groups=[TrainingGroup.of_hyperpod(group, cluster.mounts) for group in cluster.groups],
        shared=[SharedFolder(kind=mount.kind, path=mount.mount_path) for mount in cluster.mounts],
        region=cluster.region,
        neuron_release=setup.neuron.release if setup.neuron else None,
        source=setup.downloads.source,
        files=files_of(setup.downloads.lock),
        internet=internet,
    )
    return [problem.under("training") for problem in check_training(setup.training, place)]


def _nodes(group: InstanceGroup) -> Iterator[NodeOfGroup]:
    if group.hook is not None:
        yield group.name, group.node_type, group.hook.value


def _slurm_conf(cluster: PlacedCluster) -> tuple[str | None, SlurmConfigStrategy | None]:
    """Return when the controller runs our scripts, and who owns slurm.conf then."""
    nodes = [node for group in cluster.groups if group.node_type is NodeType.CONTROLLER for node in _nodes(group)]
    return next((hook for _, _, hook in nodes), None), cluster.spec.slurm_config_strategy


def _untold(cluster: PlacedCluster, setup: NodeSetup, lifecycle: LifecycleScripts | None) -> list[Problem]:
    scripts = lifecycle or LifecycleScripts()
    return check_nodes_told(
        given_for_nodes(setup, skip_steps=scripts.skip_steps, own_steps=scripts.own_steps),
        any_script=lifecycle is not None and any(group.script for group in cluster.groups),
        scripts_lie_in_s3=scripts.prefix is not None,
        own_folder=scripts.scripts is not None,
        steps=[(name,) for name in _OF_LIFECYCLE],
    )


def resolve_groups(
    groups: Sequence[InstanceGroup],
    *,
    lifecycle: LifecycleScripts | None,
    network: Network | None,
    availability_zone_id: str | None,
) -> tuple[list[InstanceGroup], list[Problem]]:
    """Return `groups` in their order with scripts, AZs and subnets filled in, and the AZs that the network lacks."""
    resolved: list[InstanceGroup] = []
    problems: list[Problem] = []
    for group in groups:
        try:
            group = _with_subnets(group, network, availability_zone_id)
        except FleetError as error:
            path = ("groups", group.name, "availability_zone_id")
            problems += [replace(problem, path=path) for problem in error.problems]
        resolved.append(group if lifecycle is None else group.running(lifecycle.when, lifecycle.entry_point))
    return resolved, problems


def claims(groups: Sequence[InstanceGroup], *, cluster: str) -> list[AddressClaim]:
    """Return the addresses that resolved `groups` take of the network's compute subnets."""
    return [
        AddressClaim.for_instances(
            owner=f"{cluster}/{group.name}",
            instance_types=group.instance_types or group.instance_type or (),
            count=max(group.count, 0),
            availability_zone_id=group.availability_zone_id,
        )
        for group in groups
        # A group that names subnets but no AZ stands outside the network's own.
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
"""ClusterName's limit, for the name that we make up; the rules check the user's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """A checked cluster, and the neighbours that it will be tied to."""

    shape: PlacedCluster
    cluster_name: str
    fleet_name: str
    network: Network | None
    lustre: MountableLustre | None
    open_zfs: MountableOpenZfs | None
    lifecycle: LifecycleScripts | None
    setup: NodeSetup

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
        lifecycle: LifecycleScripts | None,
        accounting_database: AccountingDatabase | None,
        setup: NodeSetup,
    ) -> "ClusterPlan":
        """Return the plan of the cluster at `scope`; raise `FleetError` with all that is wrong with it."""
        stack = cdk.Stack.of(scope)
        name = spec.cluster_name or cdk.Names.unique_resource_name(scope, max_length=_NAME_LENGTH, separator="-")
        zone = spec.availability_zone_id or _zone(network, lustre)
        subnet_ids, problems = _subnet_ids(network, zone)
        resolved, found = resolve_groups(spec.groups, lifecycle=lifecycle, network=network, availability_zone_id=zone)
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
            accounting_database=accounting_database,
            has_vpc=network is not None,
            subnet_ids=subnet_ids,
            security_group_ids=(network.security_group.security_group_id,) if network else (),
            mounts=tuple(_mounts(lustre, lustre_mount_path, open_zfs, open_zfs_mount_path)),
            lifecycle_source_s3_uri=_source(lifecycle),
            api_driven=lifecycle is None or not lifecycle.legacy,
        )
        problems += cluster_problems(shape, lifecycle)
        internet = network is None or network.internet is not InternetAccess.NONE
        problems += node_problems(shape, setup, lifecycle, internet=internet)
        if network is not None and not problems:
            # Only a cluster that can exist takes addresses: a second try must not find those of the first.
            problems += network.reserve_addresses(claims(resolved, cluster=scope.node.id))
        raise_problems(problems, subject=scope.node.path)
        return cls(
            shape=shape,
            cluster_name=name,
            fleet_name=fleet_name or name,
            network=network,
            lustre=lustre,
            open_zfs=open_zfs,
            lifecycle=lifecycle,
            setup=setup,
        )


def _zone(network: Network | None, lustre: MountableLustre | None) -> str | None:
    """Where the cluster stands unless told: beside its data, so that training does not read across AZs."""
    if network is None:
        return None
    zone = lustre.availability_zone_id if lustre else None
    return zone if zone in network.availability_zone_ids else network.availability_zone_ids[0]


def _subnet_ids(network: Network | None, zone: str | None) -> tuple[tuple[str, ...], list[Problem]]:
    """Return the subnet of the cluster, or the network's word that it has none in that AZ."""
    if network is None:
        return (), []
    try:
        return (network.compute_subnet(zone).subnet_id,), []
    except FleetError as error:
        return (), [replace(problem, path=("availability_zone_id",)) for problem in error.problems]


def _source(lifecycle: LifecycleScripts | None) -> str | None:
    """Where the scripts lie, as far as it is known before the bundle is made; a token when its bucket is ours."""
    if lifecycle is None:
        return None
    bucket = lifecycle.bucket.bucket_name if lifecycle.bucket else cdk.Aws.STACK_ID
    return f"s3://{bucket}/{(lifecycle.prefix or '').strip('/')}"


def _mounts(
    lustre: MountableLustre | None, lustre_path: str, open_zfs: MountableOpenZfs | None, open_zfs_path: str
) -> list[Mount]:
    mounts: list[Mount] = []
    if lustre is not None:
        mounts.append(
            Mount(
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
            Mount(
                kind="open_zfs",
                dns_name=open_zfs.dns_name,
                mount_path=open_zfs_path,
                availability_zone_id=open_zfs.availability_zone_id,
            )
        )
    return mounts
