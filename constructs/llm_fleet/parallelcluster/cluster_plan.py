"""A cluster checked and with every default filled in, before any resource of it exists."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.accounting.accounting import Accounting
from llm_fleet.lifecycle.node_setup import NodeSetup
from llm_fleet.network.network import Network
from llm_fleet.parallelcluster.cluster_storage import FleetMounts, by_parameter
from llm_fleet.parallelcluster.construct_checks import cluster_problems
from llm_fleet.parallelcluster.node_scripts import NodeScripts
from llm_fleet.parallelcluster.render_configuration import render_configuration
from llm_fleet.parallelcluster.resolve_nodes import resolve_head_node, resolve_pool, resolve_queues
from llm_fleet.rules.parallelcluster.address_claims import address_claims
from llm_fleet.rules.parallelcluster.cluster_shape import ClusterShape
from llm_fleet.rules.parallelcluster.configuration import check_configuration
from llm_fleet.rules.parallelcluster.iam_prefix import check_prefix_path
from llm_fleet.rules.parallelcluster.place import check_place
from llm_fleet.rules.parallelcluster.plain_values import check_plain_values
from llm_fleet.rules.problem import FleetError, Problem, raise_problems
from llm_fleet.spec.parallelcluster import SharedStorage, SlurmSettings
from llm_fleet.spec.parallelcluster_nodes import HeadNode, LoginPool
from llm_fleet.spec.parallelcluster_queue import Queue
from llm_fleet.storage.file_systems import MountableLustre

_NAME_LENGTH = 20
"""Of the name that we make up. It is part of every host name, and must not change when a queue is added: with the hash
it leaves 24 characters to the names of queue, compute resource and node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """A checked cluster, and the neighbours that it will be tied to."""

    shape: ClusterShape
    accounting: Accounting | None
    fleet_name: str
    network: Network
    mounts: FleetMounts
    scripts: NodeScripts | None
    setup: NodeSetup

    @classmethod
    def make(
        cls,
        scope: Construct,
        *,
        network: Network,
        head_node: HeadNode,
        queues: Sequence[Queue],
        login_pools: Sequence[LoginPool],
        shared_storage: Sequence[SharedStorage],
        mounts: FleetMounts,
        availability_zone_id: str | None,
        cluster_name: str | None,
        fleet_name: str | None,
        version: str,
        os: str,
        scheduler: str,
        image_id: str | None,
        slurm: SlurmSettings,
        accounting: Accounting | None,
        scripts: NodeScripts | None,
        setup: NodeSetup,
        tags: Mapping[str, str],
        log_retention_days: int,
        detailed_monitoring: bool,
        overrides: Mapping[str, Any],
        iam_resource_prefix: str | None,
    ) -> "ClusterPlan":
        """Return the plan of the cluster at `scope`; raise `FleetError` with all that is wrong with it."""
        name = cluster_name or cdk.Names.unique_resource_name(scope, max_length=_NAME_LENGTH, separator="-")
        zone = availability_zone_id or _zone(network, mounts.lustre)
        subnet, problems = _subnet(network, zone)
        resolved, found = resolve_queues(queues, network, zone=zone)
        problems += found
        of_fleet, found = mounts.shared_storage()
        problems += found
        shape = ClusterShape(
            cluster_name=name,
            region=cdk.Stack.of(scope).region,
            version=version,
            os=os,
            scheduler=scheduler,
            image_id=image_id,
            head_node=resolve_head_node(head_node, network, subnet),
            queues=resolved,
            login_pools=[resolve_pool(pool, network, head_node.subnet or subnet) for pool in login_pools],
            shared_storage=[*of_fleet, *shared_storage],
            slurm=slurm,
            accounting=accounting,
            detailed_monitoring=detailed_monitoring,
            log_retention_days=log_retention_days,
            tags=tags,
            overrides=overrides,
        )
        problems += check_prefix_path(iam_resource_prefix, "iam_resource_prefix")
        problems += check_place(has_network=True, internet=network.internet)
        problems += cluster_problems(shape, scripts, setup)
        # The schema has its say only on what the rules take: both would tell most mistakes.
        problems = problems or _rendered_problems(shape)
        if not problems:
            # Only a cluster that can exist takes addresses: a second try must not find those of the first.
            problems += network.reserve_addresses(
                address_claims(
                    head_node=head_node,
                    queues=resolved,
                    login_pools=login_pools,
                    owner=scope.node.id,
                    zone=zone,
                    efa_with_address=shape.efa_with_address,
                )
            )
        raise_problems(by_parameter(problems), subject=scope.node.path)
        return cls(
            shape=shape,
            accounting=accounting,
            fleet_name=fleet_name or name,
            network=network,
            mounts=mounts,
            scripts=scripts,
            setup=setup,
        )


def _rendered_problems(shape: ClusterShape) -> list[Problem]:
    configuration = render_configuration(shape)
    return [*check_plain_values(configuration), *check_configuration(configuration)]


def _zone(network: Network, lustre: MountableLustre | None) -> str:
    """Where the cluster stands unless told: beside its data, so that training does not read across AZs."""
    zone = lustre.availability_zone_id if lustre else None
    return zone if zone is not None and zone in network.availability_zone_ids else network.availability_zone_ids[0]


def _subnet(network: Network, zone: str) -> tuple[ec2.ISubnet | None, list[Problem]]:
    """Return the subnet of the cluster, or the network's word that it has none in that AZ."""
    try:
        return network.compute_subnet(zone), []
    except FleetError as error:
        return None, [replace(problem, path=("availability_zone_id",)) for problem in error.problems]
