"""Where a fleet file can name a retained resource, and why it cannot name the others."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from llm_fleet.cli.retained.survey import FILE_SYSTEM, KEY, LUSTRE, OPEN_ZFS, Retained
from llm_fleet.fleet_file.fleet import Fleet

KeyPath = tuple[str, ...]

_SECURITY_GROUP, _COMPUTE_SUBNET = re.compile(r"NetworkSecurityGroup"), re.compile(r"Network.*ComputeSubnet")
_DATABASE_SUBNET = re.compile(r"NetworkDatabaseSubnet[12]")
PARTS = ("network", "existing")
STORAGE_KEY = ("storage", "key")
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


def named(fleet: Fleet) -> Iterator[tuple[KeyPath, str, str]]:
    """Yield each key of the fleet file that names a retained resource: its path, the resource's kind, and id or ARN."""
    existing = fleet.network.existing if fleet.network is not None else None
    if existing is not None:
        yield (*PARTS, "vpc"), "VPC", existing.vpc
        yield from (((*PARTS, "subnets", zone), "subnet", id) for zone, id in existing.subnets.items())
        yield from (((*PARTS, "database_subnets"), "subnet", id) for id in existing.database_subnets)
        if existing.security_group is not None:
            yield (*PARTS, "security_group"), "security group", existing.security_group
        if isinstance(existing.encryption_key, str):
            yield (*PARTS, "key"), KEY, existing.encryption_key
    storage = fleet.storage
    if isinstance(storage.encryption_key, str):
        yield STORAGE_KEY, KEY, storage.encryption_key
    for part, one in (("fsx", storage.fsx), ("home", storage.home)):
        if one is not None and one.existing is not None:
            yield ("storage", part, "existing", "id"), FILE_SYSTEM, str(one.existing.file_system_id)
    for name, bucket in storage.buckets.items():
        if bucket.existing:
            yield ("storage", "buckets", name, "name"), "bucket", str(bucket.bucket_name)
            if isinstance(bucket.encryption_key, str):
                yield ("storage", "buckets", name, "key"), KEY, bucket.encryption_key


def is_named(item: Retained, id: str) -> bool:
    """Return whether `id`, also the ARN of a KMS key, is that of `item`."""
    return id.rpartition("/")[2] == item.id


def fleet_key(item: Retained, fleet: Fleet) -> FleetKey:
    """Return where `fleet`'s file can name `item`."""
    key = _place(item, fleet)
    ids = [id for path, _, id in named(fleet) if key.path and path[: len(key.path)] == key.path]
    return replace(key, used=any(is_named(item, id) for id in ids))


def _place(item: Retained, fleet: Fleet) -> FleetKey:
    match item.kind:
        case "VPC" | "subnet" | "security group" if item.part == "network" and (key := _of_network(item)):
            return _in_network(item, fleet, key)
        case "KMS key" if item.part == "network" and item.trace.logical_id == _logical_id("Key"):
            return _in_network(item, fleet, "key")
        case "KMS key" if item.part == "storage" and item.trace.logical_id == _logical_id("Key"):
            return FleetKey(path=STORAGE_KEY)
        case "file system" if item.part == "storage":
            return _of_file_system(item, fleet)
        case "bucket" if item.part == "storage":
            return _of_bucket(item, fleet)
        case _:
            return FleetKey(reason=_reason(item))


def _of_network(item: Retained) -> str | None:
    """Return the key of `network.existing` for a VPC, subnet or security group of the network stack."""
    if item.kind == "VPC":
        return "vpc"
    if item.kind == "subnet":
        return "database_subnets" if is_database_subnet(item) else "subnets" if is_compute_subnet(item) else None
    return "security_group" if is_group_of_nodes(item) else None


def _in_network(item: Retained, fleet: Fleet, key: str) -> FleetKey:
    if fleet.network is None:
        return FleetKey(reason="the fleet file has no network")
    if fleet.network.vpc is not None:
        return FleetKey(reason="the fleet file has another network, `network.vpc`")
    return FleetKey(path=(*PARTS, key))


def is_compute_subnet(item: Retained) -> bool:
    """Return whether `item` is a subnet of nodes that the network stack has created."""
    return item.part == "network" and bool(_COMPUTE_SUBNET.match(item.trace.logical_id))


def is_database_subnet(item: Retained) -> bool:
    """Return whether `item` is a subnet of databases that the network stack has created."""
    return item.part == "network" and bool(_DATABASE_SUBNET.match(item.trace.logical_id))


def is_group_of_nodes(item: Retained) -> bool:
    """Return whether `item` is the security group of nodes that the network stack has created."""
    return item.part == "network" and bool(_SECURITY_GROUP.match(item.trace.logical_id))


def _of_file_system(item: Retained, fleet: Fleet) -> FleetKey:
    kind, storage = item.described.facts.get("FileSystemType"), fleet.storage
    if kind == LUSTRE:
        if storage.fsx is None:
            return FleetKey(reason="the fleet file has no `storage.fsx`")
        return FleetKey(path=("storage", "fsx", "existing"))
    if kind != OPEN_ZFS:
        return FleetKey(reason="it was not queried")
    home = storage.home
    if home is None:
        return FleetKey(reason="the fleet file has no `storage.home`")
    if home.volumes:
        return FleetKey(reason="`storage.home.volumes` cannot be set for an existing file system")
    return FleetKey(path=("storage", "home", "existing"))


def _of_bucket(item: Retained, fleet: Fleet) -> FleetKey:
    ids: Mapping[str, str] = {_logical_id(f"Bucket-{name}"): name for name in fleet.storage.buckets}
    name = ids.get(item.trace.logical_id)
    return FleetKey(reason=_reason(item)) if name is None else FleetKey(path=("storage", "buckets", name))


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
        return "each deployment creates its own with the settings of the fleet file; these records expire"
    if item.kind == "bucket" and logical_id.startswith("AccessLogs"):
        return "its policy accepts logs only of the buckets of its stack, also after these are used again"
    if item.kind == "bucket" and logical_id.startswith("LifecycleBucket"):
        return "it has only lifecycle scripts, which each deployment uploads again; delete it"
    if item.kind == "bucket" and item.part == "storage":
        return "no bucket under `storage.buckets` has its key"
    if item.kind == "security group" and "AccessSecurityGroup" in logical_id:
        return "it stays the security group of its file system"
    if item.part == "database" or item.kind in _DATABASE:
        return "set it as `accounting` of the clusters, with its endpoint and secret"
    return "the fleet file has no key for it"
