"""The schema of ParallelCluster's configuration file, and the file systems that it mounts."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any

from llm_fleet.catalog.data_file import KEY, load, reader
from llm_fleet.catalog.limit import Limit

SECTION, MAP, ANY = "section", "map", "any"
"""Types that hold keys of their own, any keys, or anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaKey:
    """A key of the configuration."""

    place: str
    """The keys down to it, lists with `[]`, e.g. `Scheduling/SlurmQueues[]/Name`; empty for the whole."""
    kind: str
    """`section`, `map`, `any`, `str`, `int`, `float` or `bool`; of its items where it is a list."""
    many: bool = False
    """Whether it is a list."""
    item_key: str | None = None
    """The key that tells the items of a list apart."""
    required: bool = False
    one_of: Sequence[Any] = ()
    range: Limit | None = None
    """Of a number."""
    length: Limit | None = None
    """Of a text, or of the list."""
    regex: re.Pattern[str] | None = None
    """What a text begins with; anchored at its end where that is meant."""
    keys: "dict[str, SchemaKey]" = field(default_factory=lambda: dict[str, SchemaKey]())
    """Of a section."""

    @property
    def name(self) -> str:
        """The key itself."""
        return self.place.rsplit("/", 1)[-1].removesuffix("[]")


@cache
def parallelcluster_schema() -> SchemaKey:
    """Return the whole configuration as one section."""
    root = SchemaKey(place="", kind=SECTION)
    sections = {"": root}
    for place, facts in _facts().items():
        parent, _, name = place.rpartition("/")
        key = _key(place, facts)
        sections[parent].keys[name.removesuffix("[]")] = key
        sections[place] = key
    return root


def schema_at(place: str) -> SchemaKey | None:
    """Return the key at `place`, e.g. `HeadNode/Ssh` or `SharedStorage[]`; `None` where there is none."""
    return _by_place().get(place)


@cache
def places_of(name: str) -> tuple[str, ...]:
    """Return where the key called `name` stands, whatever the case of its letters."""
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
    """The data file's keys, and what it cannot tell: a hook takes one script or a `Sequence` of them.

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
    """`None` where IOPS cannot be asked for."""
    default_iops: int | None = None
    iops_per_gib: int | None = None
    """Most IOPS for each GiB."""
    throughput: Limit | None = None
    """MiB/s; `None` where it is not checked."""
    throughput_per_iops: float | None = None
    """Most MiB/s for each IOPS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MountDirs:
    """Directories of ParallelCluster's and of the system's."""

    scratch: str
    """Where local disks are mounted unless the configuration says another place."""
    reserved: tuple[str, ...]
    """Where no shared storage may be mounted."""


DEFAULT_EBS_TYPE: str = load("parallelcluster")["ebs"]["default_type"]
DEFAULT_EBS_SIZE_GIB: int = load("parallelcluster")["ebs"]["default_size"]
DEFAULT_EBS_THROUGHPUT: int = load("parallelcluster")["ebs"]["default_throughput"]
"""MiB/s, of gp3."""
DEFAULT_LUSTRE_TYPE: str = load("parallelcluster")["fsx"]["default_deployment_type"]
_ebs_volume_types = reader(Mapping[str, EbsVolumeType], "parallelcluster", "ebs", "types")


def ebs_volume_type(name: str) -> EbsVolumeType | None:
    """Return the bounds of the volume type `name`; `None` where there is no such type."""
    return _ebs_volume_types().get(name)


def ebs_volume_types() -> tuple[str, ...]:
    """Return the names of the volume types."""
    return tuple(_ebs_volume_types())


mount_dirs = reader(MountDirs, "parallelcluster", "mount_dirs")
"""The directories that shared storage has to keep out of."""
