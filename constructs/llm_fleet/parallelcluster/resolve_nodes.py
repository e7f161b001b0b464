"""Fills in what nodes leave to their cluster: where they stand, and the security group that all of them share."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from aws_cdk import aws_ec2 as ec2

from llm_fleet.network.network import Network
from llm_fleet.rules.problem import FleetError, Problem
from llm_fleet.spec.parallelcluster_nodes import HeadNode, LoginPool
from llm_fleet.spec.parallelcluster_queue import Queue


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


def resolve_queues(queues: Sequence[Queue], network: Network, *, zone: str | None) -> tuple[list[Queue], list[Problem]]:
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
    return resolved, problems
