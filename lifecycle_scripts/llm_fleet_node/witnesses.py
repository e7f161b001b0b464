"""Sources of this node's group (witnesses). Each reads one fact, independent of the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.manifest import Manifest
from llm_fleet_node.places import Places
from llm_fleet_node.platform_files import Instance, ResourceConfig, items, read_object, text

CONTROLLER = "Controller"


@dataclass(frozen=True)
class Testimony:
    """What a source says about this node's group."""

    witness: str
    """The source: a file and a field."""
    groups: frozenset[str] | None
    """The possible groups of this node; `None` if unknown."""
    says: str
    """The statement as text, with its values."""
    names: bool = False
    """Whether it identifies the node, instead of narrowing down the groups."""


def by_argument(given: str | None) -> Testimony:
    """The group in the platform's arguments, the same for all nodes of a group."""
    witness = "argument --group"
    if not given:
        return Testimony(witness, None, "none was given")
    return Testimony(witness, frozenset({given}), f"it is {given}", names=True)


def listed_instance(config: ResourceConfig | None, own: frozenset[str]) -> Instance | None:
    """Return the instance of `config` with an address of this node; `None` if there is none.

    Raises `Failure` if several groups list such an instance.
    """
    found = [instance for instance in (config.instances if config else ()) if instance.address in own]
    if len({instance.group for instance in found}) > 1:
        listed = ", ".join(f"{instance.address} in {instance.group}" for instance in found)
        fail(Code.IDENTITY_CONTRADICTION, f"resource_config.json lists this node in several groups: {listed}")
    return found[0] if found else None


def by_address(config: ResourceConfig | None, own: frozenset[str]) -> Testimony:
    """The platform's list of instances, by any address of this node."""
    witness = "resource_config.json, Instances"
    if config is None:
        return Testimony(witness, None, "there is no such file")
    if not config.instances:
        return Testimony(witness, None, "it lists no instance yet")
    instance = listed_instance(config, own)
    if instance is None:
        return Testimony(witness, None, f"none of its {len(config.instances)} instances has an address of this node")
    return Testimony(witness, frozenset({instance.group}), f"{instance.address} is in {instance.group}", names=True)


def by_controller_address(config: ResourceConfig | None, own: frozenset[str], manifest: Manifest) -> Testimony:
    """Whether the controller's address is one of this node."""
    witness = "resource_config.json, SlurmConfig"
    if config is None or not config.controller_addresses:
        return Testimony(witness, None, "it names no controller")
    if not own:
        return Testimony(witness, None, "this node's own addresses are not known")
    shown = ", ".join(config.controller_addresses)
    controllers = frozenset(group.name for group in manifest.groups if group.role == CONTROLLER)
    if own & frozenset(config.controller_addresses):
        return Testimony(witness, controllers, f"this node is the controller ({shown})", names=len(controllers) == 1)
    others = frozenset(group.name for group in manifest.groups) - controllers
    return Testimony(witness, others, f"the controller is {shown}, which is not this node")


def by_node_info(places: Places, own: frozenset[str], manifest: Manifest) -> Testimony:
    """The result of AWS's detect-node extension, if it is for this node and not left over in an image."""
    witness = "nodeinfo.json"
    info = read_object(places.node_info)
    if info is None:
        return Testimony(witness, None, "there is no such file")
    same_cluster(text(info, "cluster_name", places.node_info), manifest, witness)
    group = text(info, "instance_group_name", places.node_info)
    address = text(info, "ip_address", places.node_info)
    if group is None or address not in own:
        return Testimony(witness, None, f"it is for {address or 'no address'}, which is not this node's")
    return Testimony(witness, frozenset({group}), f"{address} is in {group}", names=True)


def by_product_name(places: Places, manifest: Manifest) -> Testimony:
    """The instance type in the firmware, which only some groups have."""
    witness = "instance type"
    product = product_type(places)
    if product is None:
        return Testimony(witness, None, "the firmware does not report it")
    groups = frozenset(
        group.name for group in manifest.groups if product in {kind.name for kind in group.instance_types}
    )
    if not groups:
        return Testimony(witness, None, f"no group of the manifest has {product}")
    # A queue of ParallelCluster can have any type of its capacity reservation.
    groups |= frozenset(group.name for group in manifest.groups if not group.instance_types)
    return Testimony(witness, groups, f"{product} is in {', '.join(sorted(groups))}")


def product_type(places: Places) -> str | None:
    """Return the instance type as in the manifest, e.g. `ml.m5.xlarge`; `None` if unknown."""
    try:
        product = places.product_name.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None
    return f"ml.{product}" if product else None


def check_roles(places: Places, manifest: Manifest) -> None:
    """Raise `Failure` if `provisioning_parameters.json` has another role for a group than the manifest."""
    path = places.provisioning_parameters
    parameters = read_object(path)
    if parameters is None:
        return
    given = {text(parameters, "controller_group", path): CONTROLLER, text(parameters, "login_group", path): "Login"}
    for worker in items(parameters, "worker_groups", path):
        given[_worker_group(worker)] = "Compute"
    for name, role in given.items():
        group = manifest.group(name) if name else None
        if group is not None and group.role != role:
            fail(
                Code.IDENTITY_CONTRADICTION,
                f"{path} has role {role} for group {name}, but the manifest has {group.role}",
            )


def same_cluster(name: str | None, manifest: Manifest, witness: str) -> None:
    """Raise `Failure` if `witness` is for another cluster than the manifest."""
    if name and manifest.cluster and name != manifest.cluster:
        fail(Code.CLUSTER_MISMATCH, f"{witness} is for the cluster {name}, but the bundle is for {manifest.cluster}")


def _worker_group(worker: Any) -> str | None:
    name = cast("dict[str, Any]", worker).get("instance_group_name") if isinstance(worker, dict) else None
    return name if isinstance(name, str) else None
