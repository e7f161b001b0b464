"""Finds out who this node is: asks every witness, and refuses to guess."""

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
"""The manifest's `platform` that is not HyperPod."""

_RECOVERED_BY_TIME = (Code.PLATFORM_FILE, Code.NO_ONE_KNOWS)
"""A file is cut off while it is written, and old or empty until the platform knows the node."""

_NEEDED = 2
"""How many witnesses that only narrow down are needed in place of one that names the node."""


@dataclass(frozen=True)
class Identity:
    """Who this node is, and who said so."""

    group: Group
    instance_id: str | None
    instance_name: str | None
    instance_type: str | None
    """E.g. `ml.trn1.32xlarge`, as the platform lists it."""
    controllers: tuple[str, ...]
    """Addresses of the controllers, the primary first; empty where the platform tells none.

    On HyperPod those of `SlurmConfig`, else of the instances that are listed in the controller's group.
    assumption: hyperpod-controller-address-in-slurm-config
    """
    neighbours: tuple[Instance, ...]
    """Every instance of the cluster that the platform lists, this one too. The list may be old."""
    addresses: tuple[str, ...]
    testimonies: tuple[Testimony, ...]
    is_complete: bool = True
    """Whether the platform's list was there, with the address of a controller where this node needs one."""


def identify_in_time(
    places: Places, manifest: Manifest, *, seconds: float, given: Optional[str], say: Callable[[str], None]
) -> Identity:
    """Return who this node is, waiting up to `seconds` for the platform's files to be there and whole.

    They may come late, be half written, or know this node only after a while. Raises `Failure` as `identify` does:
    at once for what time does not heal, else with the last reason when the time is over.
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
            say("waiting for the platform's files: no controller's address is there yet")
        candidates[:] = [found]
        return (found,) if found.is_complete else ()

    candidates: list[Identity] = []
    try:
        return wait_for("platform's files", try_it, seconds=seconds, code=Code.NO_ONE_KNOWS)[0]
    except Failure as failure:
        if failure.final:
            raise
        if candidates:
            there = places.resource_config.exists()
            lack = f"{places.resource_config} names no controller" if there else f"there is no {places.resource_config}"
            say(f"{lack} after {seconds:g} s; going on with what others say")
            return candidates[0]
        last = reasons[-1]
        raise Failure(last.code, f"{last.cause}; waited {seconds:g} s for better") from last


def identify(places: Places, manifest: Manifest, given: Optional[str] = None) -> Identity:
    """Return who this node is, by what there is now.

    `given` is the group that the platform named on the command line; HyperPod names none. Raises `Failure` when
    witnesses contradict one another or too few know anything.
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
        neighbours=config.instances if config else (),
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
    """Return whether the steps of the node's hook set Slurm up: they ask the controller for its configuration."""
    return group.hook == ON_CREATE and group.role != CONTROLLER


def _in_parallelcluster(places: Places, manifest: Manifest, given: Optional[str], own: frozenset[str]) -> Identity:
    config = read_cfnconfig(places.parallelcluster)
    same_cluster(config.cluster_name, manifest, "cfnconfig")
    # With `Dns/UseEc2Hostnames` the kernel's name is EC2's, and only Slurm's tells the queue.
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
        neighbours=(),
        addresses=tuple(sorted(own)),
        testimonies=testimonies,
    )


def agree(testimonies: tuple[Testimony, ...], manifest: Manifest) -> Group:
    """Return the one group that all `testimonies` leave.

    One that names the node is enough; without such, two that narrow it down to one group. Raises `Failure`
    when they name a group that the manifest lacks, contradict one another, or leave the question open.
    """
    heard = "; ".join(f"{testimony.witness}: {testimony.says}" for testimony in testimonies)
    spoken = [testimony for testimony in testimonies if testimony.groups is not None]
    unknown = {name for testimony in spoken for name in testimony.groups or () if manifest.group(name) is None}
    if unknown:
        fail(Code.GROUP_UNKNOWN, f"the bundle knows no group {', '.join(sorted(unknown))} ({heard})")
    left = {group.name for group in manifest.groups}
    for testimony in spoken:
        left &= testimony.groups or frozenset()
    if not left:
        fail(Code.CONTRADICTION, f"no group fits what is said of this node ({heard})")
    sure = any(testimony.names for testimony in spoken) or len(spoken) >= _NEEDED
    group = manifest.group(next(iter(left)))
    if len(left) > 1 or not sure or group is None:
        fail(Code.NO_ONE_KNOWS, f"this node could be of {' or '.join(sorted(left))} ({heard})")
    return group
