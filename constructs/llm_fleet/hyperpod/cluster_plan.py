"""A cluster checked and with every default filled in, before any resource of it exists."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.accounting.accounting_database import AccountingDatabase
from llm_fleet.hyperpod.construct_checks import cluster_problems
from llm_fleet.hyperpod.lifecycle_scripts import LifecycleScripts
from llm_fleet.hyperpod.node_checks import node_problems
from llm_fleet.hyperpod.resolve_groups import claims, resolve_groups
from llm_fleet.lifecycle.node_setup import NodeSetup
from llm_fleet.network.network import Network
from llm_fleet.rules.problem import FleetError, Problem, raise_problems
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.hyperpod_cluster import HyperPodClusterSpec, Mount, PlacedCluster
from llm_fleet.storage.file_systems import MountableLustre, MountableOpenZfs

_NAME_LENGTH = 63
"""ClusterName's limit, for the name that we make up; the rules check the user's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """A checked cluster, and the neighbours that it will be tied to."""

    shape: PlacedCluster
    accounting_database: AccountingDatabase | None
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
        availability_zone_id: str | None,
        cluster_name: str | None,
        fleet_name: str | None,
        lustre: MountableLustre | None,
        lustre_mount_path: str,
        open_zfs: MountableOpenZfs | None,
        open_zfs_mount_path: str,
        lifecycle: LifecycleScripts | None,
        accounting_database: AccountingDatabase | None,
        setup: NodeSetup,
        tags: Mapping[str, str],
    ) -> "ClusterPlan":
        """Return the plan of the cluster at `scope`; raise `FleetError` with all that is wrong with it."""
        stack = cdk.Stack.of(scope)
        name = cluster_name or cdk.Names.unique_resource_name(scope, max_length=_NAME_LENGTH, separator="-")
        zone = availability_zone_id or _zone(network, lustre)
        subnet_ids, problems = _subnet_ids(network, zone)
        resolved, found = resolve_groups(spec.groups, lifecycle=lifecycle, network=network, availability_zone_id=zone)
        problems += found
        shape = PlacedCluster(
            spec=spec.model_copy(update={"groups": resolved, "slurm_config_strategy": spec.effective_strategy}),
            cluster_name=name,
            region=stack.region,
            account=stack.account,
            accounting_database=accounting_database,
            has_vpc=network is not None,
            subnet_ids=subnet_ids,
            security_group_ids=(network.security_group.security_group_id,) if network else (),
            availability_zone_id=zone,
            mounts=tuple(_mounts(lustre, lustre_mount_path, open_zfs, open_zfs_mount_path)),
            lifecycle_source_s3_uri=_source(lifecycle),
            tags=tags,
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
            accounting_database=accounting_database,
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
