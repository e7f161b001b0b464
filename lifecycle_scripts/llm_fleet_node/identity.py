"""Identifies this node from several sources (witnesses), which must agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional

from llm_fleet_node.addresses import local_addresses
from llm_fleet_node.failures import Code, Failure, fail
from llm_fleet_node.manifest import Group, Manifest
from llm_fleet_node.parallelcluster_files import read_cfnconfig, read_name
from llm_fleet_node.parallelcluster_witnesses import by_host_name, by_node_type, by_queue
from llm_fleet_node.places import Places
from llm_fleet_node.platform_files import Instance, ResourceConfig, read_resource_config
from llm_fleet_node.step import ON_CREATE
from llm_fleet_node.waiting import wait_for
from llm_fleet_node.witnesses import (
    CONTROLLER,
    Testimony,
    by_address,
    by_argument,
    by_controller_address,
    by_node_info,
    by_product_name,
    check_roles,
    listed_instance,
    product_type,
    same_cluster,
)

PARALLELCLUSTER = "parallelcluster"
"""The manifest's `platform` for AWS ParallelCluster."""

_RECOVERED_BY_TIME = (Code.PLATFORM_FILE, Code.GROUP_NOT_IDENTIFIED)
"""A file is incomplete while it is written, and old or empty until the platform lists the node."""

_NEEDED = 2
"""Required number of witnesses that only narrow down the group, if no witness names the node."""


@dataclass(frozen=True)
class Identity:
    """The identity of this node, with the statements of its sources."""

    group: Group
    instance_id: str | None
    instance_name: str | None
    instance_type: str | None
    """E.g. `ml.trn1.32xlarge`, from the platform's list."""
    controllers: tuple[str, ...]
    """Addresses of the controllers, the primary first; empty if the platform lists none.

    On HyperPod those of `SlurmConfig`, otherwise of the instances in the controller's group.
    assumption: hyperpod-controller-address-in-slurm-config
    """
    neighbors: tuple[Instance, ...]
    """All instances of the cluster that the platform lists, with this one. The list may be outdated."""
    addresses: tuple[str, ...]
    testimonies: tuple[Testimony, ...]
    is_complete: bool = True
    """Whether the platform's list exists, with the address of a controller if this node needs one."""


def identify_in_time(
    places: Places, manifest: Manifest, *, seconds: float, given: Optional[str], say: Callable[[str], None]
) -> Identity:
    """Return this node's identity; wait up to `seconds` for the platform's files to be complete.

    They can be missing, incomplete or without this node at first. Raises `Failure` as `identify` does: immediately if
    waiting does not help, otherwise with the last reason after the timeout.
    """
    reasons: list[Failure] = []

    def try_it() -> tuple[Identity, ...]:
        try:
            found = identify(places, manifest, given)
        except Failure as failure:
            if failure.code not in _RECOVERED_BY_TIME:
                raise Failure(failure.code, failure.cause, final=True) from failure
            if not reasons or reasons[-1].cause != failure.cause:
                say(f"waiting for the platform's files: {failure.cause}")
                reasons.append(failure)
            return ()
        if not candidates and not found.is_complete:
            say("waiting for the platform's files: they list no controller address yet")
        candidates[:] = [found]
        return (found,) if found.is_complete else ()

    candidates: list[Identity] = []
    try:
        return wait_for("platform's files", try_it, seconds=seconds, code=Code.GROUP_NOT_IDENTIFIED)[0]
    except Failure as failure:
        if failure.final:
            raise
        if candidates:
            there = places.resource_config.exists()
            lack = f"{places.resource_config} names no controller" if there else f"there is no {places.resource_config}"
            say(f"{lack} after {seconds:g} s; continuing with the other sources")
            return candidates[0]
        last = reasons[-1]
        raise Failure(last.code, f"{last.cause}; gave up after {seconds:g} s") from last


def identify(places: Places, manifest: Manifest, given: Optional[str] = None) -> Identity:
    """Return this node's identity from the files that exist now.

    `given`: the group on the command line; HyperPod passes none. Raises `Failure` if witnesses contradict each other or
    do not determine the group.
    """
    own = local_addresses(places.addresses)
    if manifest.platform == PARALLELCLUSTER:
        return _in_parallelcluster(places, manifest, given, own)
    config = read_resource_config(places.resource_config)
    if config is not None:
        same_cluster(config.cluster_name, manifest, "resource_config.json")
    check_roles(places, manifest)
    testimonies = (
        by_argument(given),
        by_address(config, own),
        by_controller_address(config, own, manifest),
        by_node_info(places, own, manifest),
        by_product_name(places, manifest),
    )
    instance = listed_instance(config, own)
    group = agree(testimonies, manifest)
    controllers = _controllers(config, manifest)
    return Identity(
        group=group,
        instance_id=instance.instance_id if instance else None,
        instance_name=instance.name if instance else None,
        instance_type=instance.instance_type if instance else None,
        controllers=controllers,
        neighbors=config.instances if config else (),
        addresses=tuple(sorted(own)),
        testimonies=testimonies,
        is_complete=config is not None and (bool(controllers) or not _needs_controller(group)),
    )


def _controllers(config: Optional[ResourceConfig], manifest: Manifest) -> tuple[str, ...]:
    if config is None:
        return ()
    heads = {group.name for group in manifest.groups if group.role == CONTROLLER}
    listed = tuple(one.address for one in config.instances if one.group in heads and one.address)
    return config.controller_addresses or listed


def _needs_controller(group: Group) -> bool:
    """Return whether the steps of the node's hook set up Slurm, for which they need the controller's address."""
    return group.hook == ON_CREATE and group.role != CONTROLLER


def _in_parallelcluster(places: Places, manifest: Manifest, given: Optional[str], own: frozenset[str]) -> Identity:
    config = read_cfnconfig(places.parallelcluster)
    same_cluster(config.cluster_name, manifest, "cfnconfig")
    # With `Dns/UseEc2Hostnames` the host name is EC2's, and only the name in Slurm contains the queue.
    host_name = read_name(places.slurm_node_name, places.host_name)
    testimonies = (
        by_argument(given),
        by_node_type(config, manifest),
        by_queue(config, manifest),
        by_host_name(host_name, manifest),
        by_product_name(places, manifest),
    )
    return Identity(
        group=agree(testimonies, manifest),
        instance_id=None,
        instance_name=host_name,
        instance_type=product_type(places),
        controllers=(config.head_node,) if config.head_node else (),
        neighbors=(),
        addresses=tuple(sorted(own)),
        testimonies=testimonies,
    )


def agree(testimonies: tuple[Testimony, ...], manifest: Manifest) -> Group:
    """Return the only group that agrees with all `testimonies`.

    One testimony that names the node is enough; otherwise two that narrow it down to one group. Raises `Failure` if
    they name a group that is not in the manifest, contradict each other, or leave several groups.
    """
    heard = "; ".join(f"{testimony.witness}: {testimony.says}" for testimony in testimonies)
    spoken = [testimony for testimony in testimonies if testimony.groups is not None]
    unknown = {name for testimony in spoken for name in testimony.groups or () if manifest.group(name) is None}
    if unknown:
        fail(Code.GROUP_UNKNOWN, f"the bundle has no group {', '.join(sorted(unknown))} ({heard})")
    left = {group.name for group in manifest.groups}
    for testimony in spoken:
        left &= testimony.groups or frozenset()
    if not left:
        fail(Code.IDENTITY_CONTRADICTION, f"no group matches all information about this node ({heard})")
    sure = any(testimony.names for testimony in spoken) or len(spoken) >= _NEEDED
    group = manifest.group(next(iter(left)))
    if len(left) > 1 or not sure or group is None:
        fail(Code.GROUP_NOT_IDENTIFIED, f"this node could be in the group {' or '.join(sorted(left))} ({heard})")
    return group
