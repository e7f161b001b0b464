"""Finds out who this node is: asks every witness, and refuses to guess."""

from __future__ import annotations

from dataclasses import dataclass

from llm_fleet_node.addresses import local_addresses
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.manifest import Group, Manifest
from llm_fleet_node.places import Places
from llm_fleet_node.platform_files import Instance, read_resource_config
from llm_fleet_node.witnesses import (
    Testimony,
    by_address,
    by_controller_address,
    by_node_info,
    by_product_name,
    check_roles,
    listed_instance,
    same_cluster,
)

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
    """Addresses of the controllers, the primary first; empty where the platform tells none."""
    neighbours: tuple[Instance, ...]
    """Every instance of the cluster that the platform lists, this one too. The list may be old."""
    addresses: tuple[str, ...]
    testimonies: tuple[Testimony, ...]


def identify(places: Places, manifest: Manifest) -> Identity:
    """Return who this node is. Raises `Failure` when witnesses contradict one another or too few know anything."""
    own = local_addresses(places.addresses)
    config = read_resource_config(places.resource_config)
    if config is not None:
        same_cluster(config.cluster_name, manifest, "resource_config.json")
    check_roles(places, manifest)
    testimonies = (
        by_address(config, own),
        by_controller_address(config, own, manifest),
        by_node_info(places, own, manifest),
        by_product_name(places, manifest),
    )
    instance = listed_instance(config, own)
    return Identity(
        group=agree(testimonies, manifest),
        instance_id=instance.instance_id if instance else None,
        instance_name=instance.name if instance else None,
        instance_type=instance.instance_type if instance else None,
        controllers=config.controller_addresses if config else (),
        neighbours=config.instances if config else (),
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
        fail(Code.NOBODY_KNOWS, f"this node could be of {' or '.join(sorted(left))} ({heard})")
    return group
