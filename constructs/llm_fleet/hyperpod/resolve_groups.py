"""Fills in what a group leaves to its cluster."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from llm_fleet.hyperpod.lifecycle_scripts import LifecycleScripts
from llm_fleet.network.network import Network
from llm_fleet.rules.network_claim import AddressClaim
from llm_fleet.rules.problem import FleetError, Problem
from llm_fleet.spec.instance_group import InstanceGroup


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
