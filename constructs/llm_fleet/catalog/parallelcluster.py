"""ParallelCluster: limits, operating systems, versions, unsupported instance types, and configuration schema."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any

from llm_fleet.catalog.data_file import KEY, Limit, load, reader

SECTION, MAP, ANY = "section", "map", "any"
"""Types with a fixed set of keys, with any keys, or with any value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaKey:
    """A key of the configuration."""

    place: str
    """Its path, lists with `[]`, e.g. `Scheduling/SlurmQueues[]/Name`; empty for the root."""
    kind: str
    """`section`, `map`, `any`, `str`, `int`, `float` or `bool`; for a list, the kind of its items."""
    many: bool = False
    """Whether it is a list."""
    item_key: str | None = None
    """The key that identifies an item of the list."""
    required: bool = False
    one_of: Sequence[Any] = ()
    range: Limit | None = None
    """Bounds of a number."""
    length: Limit | None = None
    """Length of a string or list."""
    regex: re.Pattern[str] | None = None
    """Matches the beginning of a string; the whole string only with `$`."""
    keys: "dict[str, SchemaKey]" = field(default_factory=lambda: dict[str, SchemaKey]())
    """Keys of a section."""

    @property
    def name(self) -> str:
        """The key itself."""
        return self.place.rsplit("/", 1)[-1].removesuffix("[]")


@cache
def parallelcluster_schema() -> SchemaKey:
    """Return the whole configuration as a section."""
    root = SchemaKey(place="", kind=SECTION)
    sections = {"": root}
    for place, facts in _facts().items():
        parent, _, name = place.rpartition("/")
        key = _key(place, facts)
        sections[parent].keys[name.removesuffix("[]")] = key
        sections[place] = key
    return root


def schema_at(place: str) -> SchemaKey | None:
    """Return the key at `place`, e.g. `HeadNode/Ssh` or `SharedStorage[]`; `None` for an unknown key."""
    return _by_place().get(place)


@cache
def places_of(name: str) -> tuple[str, ...]:
    """Return the places of the key `name`, ignoring case."""
    folded = name.casefold()
    return tuple(place for place, key in _by_place().items() if place and key.name.casefold() == folded)


@cache
def _by_place() -> Mapping[str, SchemaKey]:
    found: dict[str, SchemaKey] = {}
    waiting = [parallelcluster_schema()]
    while waiting:
        key = waiting.pop()
        found[key.place] = key
        waiting += reversed(key.keys.values())
    return found


def _facts() -> dict[str, dict[str, Any]]:
    """The data file's keys, and one that the file cannot express: a hook takes one script or a `Sequence` of them.

    (`OneOrManyCustomActionField` in pcluster/schemas/cluster_schema.py of aws-parallelcluster 3.16.1.)
    """
    facts: dict[str, dict[str, Any]] = dict(load("parallelcluster_schema"))
    for place in [place for place in facts if "/OnNode" in place and place.endswith("/Script")]:
        hook = place.removesuffix("/Script")
        script, arguments = facts[place], facts[f"{hook}/Args[]"]
        facts[place] = {**script, "required": False}
        facts[f"{hook}/Sequence[]"] = {"type": SECTION}
        facts[f"{hook}/Sequence[]/Script"] = script
        facts[f"{hook}/Sequence[]/Args[]"] = arguments
    return facts


def _key(place: str, facts: Mapping[str, Any]) -> SchemaKey:
    regex = facts.get("regex")
    return SchemaKey(
        place=place,
        kind=facts["type"],
        many=place.endswith("[]"),
        item_key=facts.get("key"),
        required=facts.get("required", False),
        one_of=tuple(facts.get("one_of", ())),
        range=_limit(facts.get("range")),
        length=_limit(facts.get("length")),
        regex=None if regex is None else re.compile(regex),
    )


def _limit(bounds: Sequence[int | None] | None) -> Limit | None:
    return None if bounds is None else Limit(minimum=bounds[0], maximum=bounds[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class EbsVolumeType:
    """Bounds of one EBS volume type, as ParallelCluster checks them."""

    name: Annotated[str, KEY]
    size: Limit
    """GiB."""
    iops: Limit | None = None
    """`None` where IOPS cannot be set."""
    default_iops: int | None = None
    iops_per_gib: int | None = None
    """Maximum IOPS for each GiB."""
    throughput: Limit | None = None
    """MiB/s; `None` where it is not checked."""
    throughput_per_iops: float | None = None
    """Maximum MiB/s for each IOPS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MountDirs:
    """Directories of ParallelCluster and of the operating system."""

    scratch: str
    """Default mount path of local disks."""
    reserved: tuple[str, ...]
    """Paths at which shared storage cannot be mounted."""


DEFAULT_EBS_TYPE: str = load("parallelcluster")["ebs"]["default_type"]
DEFAULT_EBS_SIZE_GIB: int = load("parallelcluster")["ebs"]["default_size"]
DEFAULT_EBS_THROUGHPUT: int = load("parallelcluster")["ebs"]["default_throughput"]
"""Default MiB/s of gp3."""
DEFAULT_LUSTRE_TYPE: str = load("parallelcluster")["fsx"]["default_deployment_type"]
_ebs_volume_types = reader(Mapping[str, EbsVolumeType], "parallelcluster", "ebs", "types")


def ebs_volume_type(name: str) -> EbsVolumeType | None:
    """Return the bounds of the volume type `name`; `None` for an unknown type."""
    return _ebs_volume_types().get(name)


def ebs_volume_types() -> tuple[str, ...]:
    """Return the names of the volume types."""
    return tuple(_ebs_volume_types())


mount_dirs = reader(MountDirs, "parallelcluster", "mount_dirs")
"""Directories at which shared storage cannot be mounted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """A value that ParallelCluster no longer supports."""

    since: str
    """The first version without it."""
    instead: str
    """The value to use instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelClusterLimits:
    """Bounds of names and numbers."""

    cluster_name: Limit
    cluster_name_accounting: int
    """Longest cluster name with external accounting: names of Slurm's tables begin with it."""
    part_name: Limit
    """Limits of the name of a queue, compute resource or login pool."""
    storage_name: Limit
    reserved_names: tuple[str, ...]
    queues: Limit
    compute_resources: Limit
    """Compute resources of all queues together."""
    login_pools: Limit
    tags: int
    """Maximum tags of a node: those of the cluster, its queue and its compute resource together."""
    reserved_tag_prefix: str
    storage: Mapping[str, Mapping[str, int]]
    """Maximum number of shared storages by kind (`Ebs`, `raid`, `Efs`, `fsx`): `new`, `existing` or `any`."""
    data_repositories: int
    """Maximum data repository associations of a Lustre file system."""
    nodes_per_gib: float
    """Compute nodes for each GiB of the head node's memory."""
    head_base_gib: float
    """GiB that the head node itself uses."""
    head_most_gib: float
    """GiB that are enough for any number of nodes."""
    iam_prefix: int
    iam_path: int
    slurm_reconfigure_timeout: int
    """Seconds; the value must be greater."""


DEFAULT_VERSION: str = load("parallelcluster")["default_version"]
CHECKED_LINE: str = load("parallelcluster")["checked_line"]
"""The versions whose schema and rules are those of this catalog: `3.16` means 3.16.0 and later patch releases."""
_slurm_by_version = reader(Mapping[str, str], "parallelcluster", "slurm_by_version")


def versions() -> tuple[str, ...]:
    """Return the versions that the checks support, oldest first."""
    return tuple(version for version in known_versions() if line_of(version) == CHECKED_LINE)


def known_versions() -> tuple[str, ...]:
    """Return all versions in the catalog, oldest first."""
    return tuple(_slurm_by_version())


def line_of(version: str) -> str:
    """Return `major.minor` of `version`, e.g. `3.16`."""
    return ".".join(version.split(".")[:2])


def slurm_of(version: str) -> str | None:
    """Return the version of Slurm in `version`; `None` for an unknown version."""
    return _slurm_by_version().get(version)


_oses_by_line = reader(Mapping[str, tuple[str, ...]], "parallelcluster", "oses_by_line")


def oses(version: str = DEFAULT_VERSION) -> tuple[str, ...]:
    """Return the operating systems of `version`; for an unknown one those of `CHECKED_LINE`."""
    by_line = _oses_by_line()
    return by_line.get(line_of(version), by_line[CHECKED_LINE])


_image_sizes = reader(Mapping[str, int], "parallelcluster", "image_size")


def image_size_gib(version: str) -> int | None:
    """Return the size of ParallelCluster's official AMIs; `None` where unknown."""
    sizes = _image_sizes().items()
    known = [size for since, size in sizes if version in versions() and _parts(since) <= _parts(version)]
    return known[-1] if known else None


_old_pythons = reader(Mapping[str, str], "parallelcluster", "old_pythons")


def old_python(os: str) -> str | None:
    """Return the version of the operating system's `python3` if the node scripts do not support it, or `None`."""
    return _old_pythons().get(os)


private_oses = reader(tuple[str, ...], "parallelcluster", "private_oses")
"""Operating systems without an official AMI of ParallelCluster."""
schedulers = reader(tuple[str, ...], "parallelcluster", "schedulers")
_gone = reader(Mapping[str, Mapping[str, Gone]], "parallelcluster", "gone")


def gone(what: str) -> Mapping[str, Gone]:
    """Return values of `oses` or `schedulers` that only older versions support."""
    return _gone()[what]


parallelcluster_regions = reader(tuple[str, ...], "parallelcluster", "regions")
"""Regions that ParallelCluster supports."""
_slurm_denied = reader(Mapping[str, tuple[str, ...]], "parallelcluster", "slurm_denied")


def denied_slurm_settings(level: str) -> tuple[str, ...]:
    """Return the Slurm settings that ParallelCluster reserves: of `slurm_conf`, `accounting`, `queue` or
    `compute_resource`."""
    return _slurm_denied()[level]


parallelcluster_limits = reader(ParallelClusterLimits, "parallelcluster", "limits")
"""Limits of every cluster."""


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


families_without_placement_group = reader(frozenset[str], "parallelcluster", "instances", "without_placement_group")
"""Families that EC2 does not support in cluster placement groups."""
families_without_drivers = reader(frozenset[str], "parallelcluster", "instances", "without_drivers")
"""GPU families that the NVIDIA drivers of ParallelCluster's official AMIs no longer support."""
unsupported_oses = reader(Mapping[str, tuple[str, ...]], "parallelcluster", "instances", "unsupported_oses")
"""Unsupported operating systems by instance family."""


class Os(str):
    """An operating system of ParallelCluster (`Image/Os`): a string.

    There are constants for those in the catalog, which can also be given as strings. `of` is for one that AWS released
    later, and is the only way to skip the check against the catalog.
    """

    __slots__ = ("unchecked",)

    unchecked: bool
    """Whether `of` created it, so that it is not checked against the catalog."""

    ALINUX2023: "Os"
    UBUNTU2204: "Os"
    UBUNTU2404: "Os"
    RHEL8: "Os"
    RHEL9: "Os"
    ROCKY8: "Os"
    """ParallelCluster has no official AMI of it: set a custom AMI."""
    ROCKY9: "Os"
    """ParallelCluster has no official AMI of it: set a custom AMI."""

    def __new__(cls, name: str) -> "Os":
        """Create the operating system `name`, e.g. `alinux2023`, which is checked against the catalog."""
        self = super().__new__(cls, name)
        self.unchecked = False
        return self

    @classmethod
    def of(cls, name: str) -> "Os":
        """Return the operating system `name` without a check against the catalog.

        Raises `ValueError` when `name` does not consist of lowercase letters and digits.
        """
        if not (name.isascii() and name.isalnum() and name == name.lower()):
            raise ValueError(f"a ParallelCluster operating system has only lowercase letters and digits, got {name!r}")
        self = cls(name)
        self.unchecked = True
        return self


def _name_operating_systems() -> None:
    """Set each constant that the class declares: `ALINUX2023` is `alinux2023`."""
    for constant in Os.__annotations__:
        if constant.isupper():
            setattr(Os, constant, Os(constant.lower()))


_name_operating_systems()


class ParallelClusterVersion(str):
    """A version of ParallelCluster: a string.

    There are constants for those that the checks support, which can also be given as strings. `of` is for other
    versions, whose configuration may differ from the checks' rules: some errors then appear only at deployment.
    """

    __slots__ = ("unchecked",)

    unchecked: bool
    """Whether `of` created it, so that it is not checked against the catalog."""

    V3_16_0: "ParallelClusterVersion"
    V3_16_1: "ParallelClusterVersion"
    V3_16_2: "ParallelClusterVersion"
    V3_16_3: "ParallelClusterVersion"
    DEFAULT: "ParallelClusterVersion"
    """3.16.1: the checks were compared with its schema and rules."""

    def __new__(cls, name: str) -> "ParallelClusterVersion":
        """Create the version `name`, e.g. `3.16.1`, which is checked against the catalog."""
        self = super().__new__(cls, name)
        self.unchecked = False
        return self

    @classmethod
    def of(cls, name: str) -> "ParallelClusterVersion":
        """Return the version `name`, e.g. `3.17.0`, without a check against the catalog.

        Raises `ValueError` when `name` is not a version of ParallelCluster 3.
        """
        major, *rest = name.split(".")
        if major != "3" or len(rest) != 2 or not all(part.isascii() and part.isdigit() for part in rest):
            raise ValueError(f"a version of ParallelCluster has the form '3.17.0', got {name!r}")
        self = cls(name)
        self.unchecked = True
        return self


def _name_versions() -> None:
    """Set each constant that the class declares: `V3_16_1` is `3.16.1`."""
    for constant in ParallelClusterVersion.__annotations__:
        if constant.startswith("V"):
            setattr(ParallelClusterVersion, constant, ParallelClusterVersion(constant[1:].replace("_", ".")))
    ParallelClusterVersion.DEFAULT = ParallelClusterVersion(DEFAULT_VERSION)


_name_versions()
