"""Converts values, shared storage and buckets of ParallelCluster's configuration for the fleet file."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from llm_fleet.cli.importing.translation import Notes, amount, number, truth, unless, without_none
from llm_fleet.fleet_file.fleet import FSX
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.overrides import Place, check_overrides
from llm_fleet.rules.problem import PathPart

_KNOWN = (Code.PC_OVERRIDE_TYPED, Code.PC_OVERRIDE_SCRIPT)
"""Keys that are converted although they are rejected as overrides."""
_PLACEHOLDER = re.compile(r"\$\{?\w+\}?|<[^<>]+>|\{\{.+\}\}")


class Section:
    """A mapping of the configuration, and its path for notes."""

    def __init__(self, values: Any, where: str, notes: Notes) -> None:
        """Copy `values`; a value that is not a mapping counts as an empty one, with a note."""
        self.where = where
        self.notes = notes
        if values is not None and not isinstance(values, Mapping):
            notes.not_understood(f"{where} `{values}`: the value must be a mapping")
        self._values: dict[str, Any] = _copied(values) if isinstance(values, Mapping) else {}

    def take(self, path: str) -> Any:
        """Remove and return the value at `path`, e.g. `Networking/SubnetId`; `None` if it is missing.

        A placeholder of a template counts as missing, with a note.
        """
        *above, last = path.split("/")
        holder: Any = self._values
        for key in above:
            holder = _below(holder, key)
        if not isinstance(holder, dict):
            return None
        found: Any = cast("dict[str, Any]", holder).pop(last, None)
        return self._filled(found, path)

    def items(self, path: str) -> list[Any]:
        """Remove and return the list at `path`, without placeholders; empty if it is missing."""
        found = self.take(path)
        if found is None:
            return []
        given = cast("list[Any]", found) if isinstance(found, list) else [found]
        return [item for item in given if self._filled(item, path) is not None]

    def say(self, path: str) -> str:
        """Return the full path in the configuration, e.g. `HeadNode.Ssh.KeyName`."""
        return ".".join([*([self.where] if self.where else []), *path.split("/")])

    def leave_rest(self, reason: str) -> None:
        """Add a note for each remaining value that it is left out."""
        for key in _pruned(self._values):
            self.notes.left_out(f"{self.say(key)}: {reason}")

    def overrides(self, place: Place) -> dict[str, Any]:
        """Return remaining values of ParallelCluster's schema as `overrides`; add notes for unknown keys."""
        for path, value in _placeholders(self._values, ()):
            _remove(self._values, path)
            self.notes.left_out(f"{self.say('/'.join(map(str, path)))} {value}: a placeholder")
        for problem in check_overrides(_pruned(self._values), place):
            path = problem.path[1:]
            if _remove(self._values, path):
                reported = self.say("/".join(map(str, path)))
                say = self.notes.left_out if problem.code in _KNOWN else self.notes.not_understood
                say(f"{reported}: {problem.message}; {problem.remedy}")
        kept = _pruned(self._values)
        if not kept:
            return {}
        names = ", ".join(self.say(key) for key in kept)
        self.notes.chosen(f"{names}: unchanged, under `overrides`; the fleet file has no key for it")
        return {"overrides": kept}

    def _filled(self, value: Any, path: str) -> Any:
        if not isinstance(value, str) or not _PLACEHOLDER.fullmatch(value.strip()):
            return value
        self.notes.left_out(f"{self.say(path)} {value}: a placeholder")
        return None


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _copied(inner) for key, inner in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list):
        return [_copied(item) for item in cast("list[Any]", value)]
    return value


def _placeholders(value: Any, path: tuple[PathPart, ...]) -> list[tuple[tuple[PathPart, ...], str]]:
    if isinstance(value, str):
        return [(path, value)] if _PLACEHOLDER.fullmatch(value.strip()) else []
    if isinstance(value, dict):
        inner = cast("dict[str, Any]", value)
        return [found for key, below in inner.items() for found in _placeholders(below, (*path, key))]
    if isinstance(value, list):
        items = cast("list[Any]", value)
        # The last first, so that the indices of the others do not change.
        return [found for index in reversed(range(len(items))) for found in _placeholders(items[index], (*path, index))]
    return []


def _remove(values: Any, path: tuple[PathPart, ...]) -> bool:
    """Remove the value at `path`, or the nearest existing one around it; return whether there was one."""
    holders: list[tuple[Any, PathPart]] = []
    holder = values
    for part in path:
        below = _below(holder, part)
        if below is _NOTHING:
            break
        holders.append((holder, part))
        holder = below
    if holders:
        inner, last = holders[-1]
        del inner[last]
    return bool(holders)


_NOTHING = object()


def _below(holder: Any, part: PathPart) -> Any:
    if isinstance(holder, dict):
        return cast("dict[Any, Any]", holder).get(part, _NOTHING)
    if isinstance(holder, list) and isinstance(part, int) and part < len(cast("list[Any]", holder)):
        return cast("list[Any]", holder)[part]
    return _NOTHING


def _pruned(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return `values` without empty mappings and lists."""
    pruned = {
        key: _pruned(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else value
        for key, value in values.items()
    }
    return {key: value for key, value in pruned.items() if value not in ({}, [], None)}


def tags(section: Section) -> dict[str, str] | None:
    """Return `Tags` as a mapping."""
    pairs = [cast("dict[str, Any]", item) for item in section.items("Tags") if isinstance(item, dict)]
    return {str(pair.get("Key", "")): str(pair.get("Value", "")) for pair in pairs} or None


def root_volume(section: Section, path: str) -> Any:
    """Return the root volume: its size, or a mapping if it has other keys."""
    size = amount(section.take(f"{path}/Size"), "GiB")
    more = without_none(
        type=section.take(f"{path}/VolumeType"),
        iops=number(section.take(f"{path}/Iops")),
        throughput=amount(section.take(f"{path}/Throughput"), "MiB/s"),
        encrypted=truth(section.take(f"{path}/Encrypted")),
    )
    return {**without_none(size=size), **more} if more else size


def dcv(section: Section) -> dict[str, Any] | None:
    """Return the remote desktop; empty if it is off."""
    enabled = truth(section.take("Dcv/Enabled"))
    port, allowed = number(section.take("Dcv/Port")), section.take("Dcv/AllowedIps")
    if enabled:
        if allowed is None:
            section.notes.chosen(
                f"{section.say('Dcv')} allows connections through Session Manager only, the fleet's default; "
                "ParallelCluster's default is from everywhere: set `dcv: {allowed_from: …}` to allow CIDR blocks"
            )
        return without_none(port=unless(port, 8443), allowed_from=allowed)
    if enabled is not None or port is not None or allowed is not None:
        section.notes.left_out(f"{section.say('Dcv')}: it is off")
    return None


def placement(section: Section) -> Any:
    """Return the placement group: its name, or whether there is one."""
    path = "Networking/PlacementGroup"
    enabled, name, id = (section.take(f"{path}/{key}") for key in ("Enabled", "Name", "Id"))
    return name or id or truth(enabled)


def reservation(section: Section) -> Any:
    """Return the capacity reservation: its id, or the ARN of a resource group."""
    path = "CapacityReservationTarget"
    id, arn = section.take(f"{path}/CapacityReservationId"), section.take(f"{path}/CapacityReservationResourceGroupArn")
    return id or arn


def scripts_and_policies(section: Section) -> None:
    """Add notes about the user's scripts and IAM policies."""
    notes = section.notes
    for hook, below in dict(section.take("CustomActions") or {}).items():
        scripts = below.get("Sequence", [below]) if isinstance(below, dict) else [below]  # pyright: ignore
        for script in cast("list[Any]", scripts):
            name = cast("dict[str, Any]", script).get("Script", "") if isinstance(script, dict) else script
            notes.left_out(
                f"{section.say(f'CustomActions/{hook}')} {name}: llm-fleet runs its own steps there; "
                "add it as a step, with `scripts: {own: …}` of the cluster"
            )
    for key in ("InstanceRole", "InstanceProfile", "AdditionalIamPolicies"):
        if section.take(f"Iam/{key}") is not None:
            notes.left_out(
                f"{section.say(f'Iam/{key}')}: nodes get the permissions of the fleet's features; set `reads` and "
                "`writes` for access to buckets"
            )


def additional_groups(section: Section) -> list[Any]:
    """Return the additional security groups."""
    if section.take("Networking/SecurityGroups") is not None:
        section.notes.left_out(
            f"{section.say('Networking/SecurityGroups')}: nodes have the groups of ParallelCluster and of the fleet; "
            "add yours with `security_groups`"
        )
    return section.items("Networking/AdditionalSecurityGroups")


class Buckets:
    """Buckets that nodes read and write, for all kinds of nodes."""

    def __init__(self) -> None:
        self._reads: dict[str, None] = {}
        self._writes: dict[str, None] = {}

    def add(self, section: Section) -> None:
        """Add the `S3Access` of one kind of nodes; all nodes of the fleet have the same access."""
        for access in section.items("Iam/S3Access"):
            given = cast("dict[str, Any]", access) if isinstance(access, dict) else {}
            name = str(given.get("BucketName", ""))
            if not name or "*" in name:
                section.notes.left_out(
                    f"{section.say('Iam/S3Access')} {name}: a fleet file needs the name of each bucket"
                )
                continue
            if given.get("KeyName"):
                section.notes.chosen(f"{section.say('Iam/S3Access')} {name}: the whole bucket, not {given['KeyName']}")
            bucket = f"s3://{name}"
            (self._writes if truth(given.get("EnableWriteAccess")) else self._reads)[bucket] = None

    @property
    def keys(self) -> dict[str, Any]:
        """The keys `reads` and `writes` of the cluster."""
        reads = [name for name in self._reads if name not in self._writes]
        return {key: names for key, names in (("reads", reads), ("writes", list(self._writes))) if names}


_READ = frozenset(
    {
        "StorageCapacity",
        "DeploymentType",
        "PerUnitStorageThroughput",
        "StorageType",
        "DataCompressionType",
        "DriveCacheType",
        "WeeklyMaintenanceStartTime",
        "AutomaticBackupRetentionDays",
        "DailyAutomaticBackupStartTime",
        "CopyTagsToBackups",
        "ImportPath",
        "DeletionPolicy",
    }
)
"""Keys that the fleet's file system supports, or whose effect is its default."""
_SCRATCH = "SCRATCH_2"
"""ParallelCluster's default."""


def fleet_lustre(settings: Any, mount: Any, section: Section) -> dict[str, Any] | None:
    """Return the keys of `storage.fsx`; `None` if it has settings that only ParallelCluster supports."""
    if not isinstance(settings, Mapping) or set(settings) - _READ:  # pyright: ignore[reportUnknownArgumentType]
        return None
    given: dict[str, Any] = dict(settings)  # pyright: ignore[reportUnknownArgumentType]
    section.notes.chosen(
        f"{section.where} is `storage.fsx` of the fleet: it is kept when the cluster is deleted, and its size can grow"
    )
    if "DeletionPolicy" in given:
        section.notes.left_out(f"{section.where}.DeletionPolicy: the fleet's file systems are always kept")
    backups = without_none(
        keep=amount(unless(number(given.get("AutomaticBackupRetentionDays")), 0), "days"),
        at=given.get("DailyAutomaticBackupStartTime"),
        copy_tags=truth(given.get("CopyTagsToBackups")),
    )
    return without_none(
        deployment=unless(given.get("DeploymentType", _SCRATCH), "PERSISTENT_2"),
        storage=unless(given.get("StorageType"), "SSD"),
        size=amount(given.get("StorageCapacity"), "GiB"),
        throughput=amount(given.get("PerUnitStorageThroughput"), "MB/s/TiB"),
        compression="NONE" if "DataCompressionType" not in given else None,
        drive_cache=given.get("DriveCacheType"),
        maintenance=given.get("WeeklyMaintenanceStartTime"),
        backups=backups,
        import_=given.get("ImportPath"),
        mount=unless(mount, "/fsx"),
    )


_SECTIONS = {
    "Ebs": ("EbsSettings", "VolumeId"),
    "Efs": ("EfsSettings", "FileSystemId"),
    "FsxLustre": ("FsxLustreSettings", "FileSystemId"),
    "FsxOpenZfs": ("FsxOpenZfsSettings", "VolumeId"),
    "FsxOntap": ("FsxOntapSettings", "VolumeId"),
    "FileCache": ("FileCacheSettings", "FileCacheId"),
}
"""By type: its section, and the key of its id."""


@dataclass(slots=True)
class Storages:
    """The converted shared storage."""

    fleet: dict[str, Any] = field(default_factory=dict[str, Any])
    """Keys of the fleet's `storage`."""
    cluster: dict[str, Any] = field(default_factory=dict[str, Any])
    """Keys of the cluster's `storage`."""


def shared_storage(sections: Iterable[Section]) -> Storages:
    """Return the storage: the first new Lustre file system becomes the fleet's, which is kept without the cluster."""
    storages = Storages()
    named = [(section, str(section.take("Name"))) for section in sections]
    for section, name in named:
        kind, mount = section.take("StorageType"), section.take("MountDir")
        settings_key, id_key = _SECTIONS.get(str(kind), ("", ""))
        id = section.take(f"{settings_key}/{id_key}") if settings_key else None
        settings: Any = section.take(settings_key) if settings_key else None
        settings = {} if settings is None else settings
        is_taken = any(other == FSX for each, other in named if each is not section)
        if kind == "FsxLustre" and id is None and FSX not in storages.fleet and not is_taken:
            lustre = fleet_lustre(settings, mount, section)
            if lustre is not None:
                storages.fleet[FSX] = lustre
                section.leave_rest(f"not available for a storage of type {kind}")
                continue
        section.leave_rest(f"not available for a storage of type {kind}")
        path = mount if not isinstance(mount, str) or mount.startswith("/") else f"/{mount}"
        entry = without_none(type=kind, mount=path, id=id, settings=settings)
        storages.cluster[name] = entry
        if id is None and "DeletionPolicy" not in settings:
            section.notes.chosen(f"{section.where} is kept when the cluster is deleted: it has no DeletionPolicy")
    return storages
