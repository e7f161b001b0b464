"""Where a fleet file can name a retained resource, and why it cannot name the others."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from llm_fleet.cli.retained.survey import LUSTRE, OPEN_ZFS, Retained
from llm_fleet.fleet_file.fleet import Fleet

KeyPath = tuple[str, ...]

_SECURITY_GROUP, _COMPUTE_SUBNET = re.compile(r"NetworkSecurityGroup"), re.compile(r"Network.*ComputeSubnet")
_DATABASE = ("database", "database server", "snapshot", "server snapshot")


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetKey:
    """The place of a resource in the fleet file."""

    path: KeyPath = ()
    """Its key, e.g. `network.vpc`; empty without one."""
    reason: str = ""
    """Why it has no key, or which other key includes it."""
    used: bool = False
    """Whether the fleet file has the resource there already."""

    def __str__(self) -> str:
        return f"{'used as ' if self.used else ''}{'.'.join(self.path)}" if self.path else f"no: {self.reason}"


def fleet_key(item: Retained, fleet: Fleet) -> FleetKey:
    """Return where `fleet`'s file can name `item`."""
    vpc = fleet.network.vpc if fleet.network is not None else None
    match item.kind:
        case "VPC" | "subnet" | "security group" if fleet.network is None:
            return FleetKey(reason="the fleet file has no network")
        case "VPC" if item.part == "network":
            return FleetKey(path=("network", "vpc"), used=vpc is not None and vpc.vpc_id == item.id)
        case "subnet" if is_compute_subnet(item):
            used = vpc is not None and item.id in vpc.subnet_ids.values()
            return FleetKey(path=("network", "vpc", "subnets"), used=used)
        case "security group" if is_group_of_nodes(item):
            used = vpc is not None and vpc.security_group_id == item.id
            return FleetKey(path=("network", "vpc", "security_group"), used=used)
        case "file system" if item.part == "storage":
            return _of_file_system(item, fleet)
        case "bucket" if item.part == "storage":
            return _of_bucket(item, fleet)
        case _:
            return FleetKey(reason=_reason(item))


def is_compute_subnet(item: Retained) -> bool:
    """Return whether `item` is a subnet of nodes that the network stack has created."""
    return item.part == "network" and bool(_COMPUTE_SUBNET.match(item.trace.logical_id))


def is_group_of_nodes(item: Retained) -> bool:
    """Return whether `item` is the security group of nodes that the network stack has created."""
    return item.part == "network" and bool(_SECURITY_GROUP.match(item.trace.logical_id))


def _of_file_system(item: Retained, fleet: Fleet) -> FleetKey:
    kind, storage = item.described.facts.get("FileSystemType"), fleet.storage
    if kind == LUSTRE:
        if storage.fsx is None:
            return FleetKey(reason="the fleet file has no `storage.fsx`")
        here = storage.fsx.existing
        used = here is not None and here.file_system_id == item.id
        return FleetKey(path=("storage", "fsx", "existing"), used=used)
    if kind != OPEN_ZFS:
        return FleetKey(reason="it was not queried")
    home = storage.home
    if home is None:
        return FleetKey(reason="the fleet file has no `storage.home`")
    if home.volumes:
        return FleetKey(reason="`storage.home.volumes` cannot be set for an existing file system")
    used = home.existing is not None and home.existing.file_system_id == item.id
    return FleetKey(path=("storage", "home", "existing"), used=used)


def _of_bucket(item: Retained, fleet: Fleet) -> FleetKey:
    ids: Mapping[str, str] = {_logical_id(f"Bucket-{name}"): name for name in fleet.storage.buckets}
    name = ids.get(item.trace.logical_id)
    if name is None:
        return FleetKey(reason=_reason(item))
    bucket = fleet.storage.buckets[name]
    used = bucket.existing and bucket.bucket_name == item.id
    return FleetKey(path=("storage", "buckets", name), used=used)


def _logical_id(construct: str) -> str:
    """Return the logical id of the main resource of a construct directly in its stack.

    Source: code aws-cdk-lib core/lib/private/uniqueid.ts: readable path without `Resource`, then a hash of the path
    """
    human = re.sub(r"[^A-Za-z0-9]", "", construct)
    digest = hashlib.md5(f"{construct}/Resource".encode(), usedforsecurity=False).hexdigest()
    return f"{human}{digest[:8].upper()}"


def _reason(item: Retained) -> str:
    logical_id = item.trace.logical_id
    if item.kind == "KMS key":
        return "it stays the key of the data that it encrypted"
    if item.kind == "log group":
        return "each deployment creates its own; the records stay until you delete it"
    if item.kind == "bucket" and logical_id.startswith("AccessLogs"):
        return "the storage stack creates its own bucket for access logs"
    if item.kind == "bucket" and logical_id.startswith("LifecycleBucket"):
        return "the storage stack creates its own bucket for lifecycle scripts, and uploads them again"
    if item.kind == "bucket" and item.part == "storage":
        return "no bucket under `storage.buckets` has its key"
    if item.kind == "security group" and "AccessSecurityGroup" in logical_id:
        return "it stays the security group of its file system"
    if item.part == "database" or item.kind in _DATABASE:
        return "set it as `accounting` of the clusters, with its endpoint and secret"
    return "the fleet file has no key for it"
