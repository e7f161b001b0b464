"""Sections of ParallelCluster's configuration, their values, shared storage and buckets, as the fleet file has them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from llm_fleet.cli.importing.translation import Notes, amount, number, reported, truth, unless
from llm_fleet.fleet_file.fleet import FSX
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.overrides import Place, check_overrides
from llm_fleet.rules.problem import PathPart

_KNOWN = (Code.PC_OVERRIDE_TYPED, Code.PC_OVERRIDE_SCRIPT)
"""Refused as overrides, and understood all the same."""
_PLACEHOLDER = re.compile(r"\$\{?\w+\}?|<[^<>]+>|\{\{.+\}\}")


class Section:
    """One mapping, and where it stands, for notes."""

    def __init__(self, values: Any, where: str, notes: Notes) -> None:
        """Take a copy of `values`; what is no mapping counts as an empty one, and is told."""
        self.where = where
        self.notes = notes
        if values is not None and not isinstance(values, Mapping):
            notes.not_understood(f"{where} {values!r}: a mapping of keys to values should stand here")
        self._values: dict[str, Any] = _copied(values) if isinstance(values, Mapping) else {}

    def take(self, path: str) -> Any:
        """Return what stands at `path`, e.g. `Networking/SubnetId`, and take it away; `None` where nothing does.

        A placeholder that a template left to be filled in is nothing, and is told.
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
        """Return the list at `path`, without placeholders, and take it away; empty where there is none."""
        found = self.take(path)
        if found is None:
            return []
        given = cast("list[Any]", found) if isinstance(found, list) else [found]
        return [item for item in given if self._filled(item, path) is not None]

    def say(self, path: str) -> str:
        """Return where `path` stands in the whole configuration, e.g. `HeadNode.Ssh.KeyName`."""
        return ".".join([*([self.where] if self.where else []), *path.split("/")])

    def leave_rest(self, reason: str) -> None:
        """Say of what nobody has taken that it is left out."""
        for key in _pruned(self._values):
            self.notes.left_out(f"{self.say(key)}: {reason}")

    def overrides(self, place: Place) -> dict[str, Any]:
        """Return, as the key `overrides`, what nobody has taken and ParallelCluster knows; say what it does not."""
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
        self.notes.chosen(f"{names}: under `overrides`, as written; the fleet file has no words for it")
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
        # The last first, so that removing one moves none of those still to remove.
        return [found for index in reversed(range(len(items))) for found in _placeholders(items[index], (*path, index))]
    return []


def _remove(values: Any, path: tuple[PathPart, ...]) -> bool:
    """Remove what stands at `path`, or the nearest thing around it that is there; return whether there was any."""
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
    """Return `values` without mappings and lists that have nothing left in them."""
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
    """Return the root volume: its size alone, or a mapping where more is said of it."""
    size = amount(section.take(f"{path}/Size"), "GiB")
    more = reported(
        type=section.take(f"{path}/VolumeType"),
        iops=number(section.take(f"{path}/Iops")),
        throughput=amount(section.take(f"{path}/Throughput"), "MiB/s"),
        encrypted=truth(section.take(f"{path}/Encrypted")),
    )
    return {**reported(size=size), **more} if more else size


def dcv(section: Section) -> dict[str, Any] | None:
    """Return the remote desktop; nothing where it is off."""
    enabled = truth(section.take("Dcv/Enabled"))
    port, allowed = number(section.take("Dcv/Port")), section.take("Dcv/AllowedIps")
    if enabled:
        if allowed is None:
            section.notes.chosen(
                f"{section.say('Dcv')} is reached from nowhere but by Session Manager, the fleet's default; "
                "ParallelCluster's default is from everywhere: say with `dcv: {allowed_from: …}` from where"
            )
        return reported(port=unless(port, 8443), allowed_from=allowed)
    if enabled is not None or port is not None or allowed is not None:
        section.notes.left_out(f"{section.say('Dcv')}: it is off")
    return None


def placement(section: Section) -> Any:
    """Return the placement group: its name, or whether there is one."""
    path = "Networking/PlacementGroup"
    enabled, name, id = (section.take(f"{path}/{key}") for key in ("Enabled", "Name", "Id"))
    return name or id or truth(enabled)


def reservation(section: Section) -> Any:
    """Return the capacity reservation: its id, or the ARN of a group of several."""
    path = "CapacityReservationTarget"
    id, arn = section.take(f"{path}/CapacityReservationId"), section.take(f"{path}/CapacityReservationResourceGroupArn")
    return id or arn


def scripts_and_policies(section: Section) -> None:
    """Say what becomes of scripts and policies of the user's own."""
    notes = section.notes
    for hook, below in dict(section.take("CustomActions") or {}).items():
        scripts = below.get("Sequence", [below]) if isinstance(below, dict) else [below]  # pyright: ignore
        for script in cast("list[Any]", scripts):
            name = cast("dict[str, Any]", script).get("Script", "") if isinstance(script, dict) else script
            notes.left_out(
                f"{section.say(f'CustomActions/{hook}')} {name}: llm-fleet's own steps run there; "
                "make it one of them, with `scripts: {own: …}` of the cluster"
            )
    for key in ("InstanceRole", "InstanceProfile", "AdditionalIamPolicies"):
        if section.take(f"Iam/{key}") is not None:
            notes.left_out(
                f"{section.say(f'Iam/{key}')}: the fleet gives nodes what its features need; say with `reads` and "
                "`writes` which buckets they need"
            )


def additional_groups(section: Section) -> list[Any]:
    """Return the security groups beside ParallelCluster's own."""
    if section.take("Networking/SecurityGroups") is not None:
        section.notes.left_out(
            f"{section.say('Networking/SecurityGroups')}: nodes are in ParallelCluster's own group and the fleet's; "
            "add yours to them with `security_groups`"
        )
    return section.items("Networking/AdditionalSecurityGroups")


class Buckets:
    """What nodes may read and write, of all kinds of nodes together."""

    def __init__(self) -> None:
        self._reads: dict[str, None] = {}
        self._writes: dict[str, None] = {}

    def add(self, section: Section) -> None:
        """Take the `S3Access` of one kind of nodes; the fleet's nodes all have the same."""
        for access in section.items("Iam/S3Access"):
            given = cast("dict[str, Any]", access) if isinstance(access, dict) else {}
            name = str(given.get("BucketName", ""))
            if not name or "*" in name:
                section.notes.left_out(
                    f"{section.say('Iam/S3Access')} {name}: a fleet file names each bucket that nodes may use"
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
"""Keys that the fleet's own file system has too, or does anyhow."""
_SCRATCH = "SCRATCH_2"
"""ParallelCluster's default."""


def fleet_lustre(settings: Any, mount: Any, section: Section) -> dict[str, Any] | None:
    """Return the keys of `storage.fsx`; `None` for one with settings that only ParallelCluster's own can have."""
    if not isinstance(settings, Mapping) or set(settings) - _READ:  # pyright: ignore[reportUnknownArgumentType]
        return None
    given: dict[str, Any] = dict(settings)  # pyright: ignore[reportUnknownArgumentType]
    section.notes.chosen(
        f"{section.where} is `storage.fsx`, which the fleet makes: it outlives the cluster, and its size can grow"
    )
    if "DeletionPolicy" in given:
        section.notes.left_out(f"{section.where}.DeletionPolicy: the fleet's file systems are always kept")
    backups = reported(
        keep=amount(unless(number(given.get("AutomaticBackupRetentionDays")), 0), "days"),
        at=given.get("DailyAutomaticBackupStartTime"),
        copy_tags=truth(given.get("CopyTagsToBackups")),
    )
    return reported(
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
"""By type: its section, and the key of the id in it."""


@dataclass(slots=True)
class Storages:
    """What becomes of the shared storage."""

    fleet: dict[str, Any] = field(default_factory=dict[str, Any])
    """Keys of the fleet's `storage`."""
    cluster: dict[str, Any] = field(default_factory=dict[str, Any])
    """Keys of the cluster's `storage`."""


def shared_storage(sections: Iterable[Section]) -> Storages:
    """Return the storages: the first Lustre that ParallelCluster would make becomes the fleet's, which outlives it."""
    reported_of = Storages()
    named = [(section, str(section.take("Name"))) for section in sections]
    for section, name in named:
        kind, mount = section.take("StorageType"), section.take("MountDir")
        settings_key, id_key = _SECTIONS.get(str(kind), ("", ""))
        id = section.take(f"{settings_key}/{id_key}") if settings_key else None
        settings: Any = section.take(settings_key) if settings_key else None
        settings = {} if settings is None else settings
        is_taken = any(other == FSX for each, other in named if each is not section)
        if kind == "FsxLustre" and id is None and FSX not in reported_of.fleet and not is_taken:
            lustre = fleet_lustre(settings, mount, section)
            if lustre is not None:
                reported_of.fleet[FSX] = lustre
                section.leave_rest(f"a storage of type {kind} does not have it")
                continue
        section.leave_rest(f"a storage of type {kind} does not have it")
        path = mount if not isinstance(mount, str) or mount.startswith("/") else f"/{mount}"
        entry = reported(type=kind, mount=path, id=id, settings=settings)
        reported_of.cluster[name] = entry
        if id is None and "DeletionPolicy" not in settings:
            section.notes.chosen(f"{section.where} is kept when the cluster goes: it has no DeletionPolicy")
    return reported_of
