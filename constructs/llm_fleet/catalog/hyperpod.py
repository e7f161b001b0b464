"""HyperPod: limits of CreateCluster, what its API model does not have, AMIs and their updates."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.limit import CronField, Limit


@cache
def cluster_limit(field: str) -> Limit:
    """Return the limits of `field`, by its path in the request, e.g. `ClusterName` or `VpcConfig.Subnets`.

    `[]` stands for a member of a list: `InstanceGroups` bounds their number, `InstanceGroups[].InstanceCount` a count.
    A field that has no limit, or is misspelt, is a `KeyError`.
    """
    facts = load("hyperpod_limits")[field]
    return Limit(minimum=facts.get("min"), maximum=facts.get("max"), pattern=facts.get("pattern"))


def group_limit(field: str) -> Limit:
    """Return the limits of `field` of an instance group, e.g. `InstanceCount`."""
    return cluster_limit(f"InstanceGroups[].{field}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HyperPodFacts:
    """What is known of HyperPod beyond its API model."""

    inferentia_families: frozenset[str]
    """Families that belong to inference elsewhere."""
    reserved_partitions: Mapping[str, str]
    """Partition names that are taken, in lower case, with the reason."""
    default_mount_paths: Mapping[str, str]
    """Where the service mounts, by kind of file system."""
    taken_mount_paths: Mapping[str, str]
    """Paths that a mount would hide, with what stands there."""
    accounting_port: int
    """Where MySQL listens unless told otherwise."""
    cron: tuple[CronField, ...]
    """The six fields of a cron expression, in order."""


@cache
def hyperpod_facts() -> HyperPodFacts:
    """Return the facts, read once a process."""
    facts = load("hyperpod")
    return HyperPodFacts(
        inferentia_families=frozenset(facts["inferentia_families"]),
        reserved_partitions=facts["reserved_partitions"],
        default_mount_paths=facts["default_mount_paths"],
        taken_mount_paths=facts["taken_mount_paths"],
        accounting_port=facts["accounting_port"],
        cron=tuple(
            CronField(name=name, minimum=field["min"], maximum=field["max"], names=tuple(field.get("names", ())))
            for name, field in facts["cron"].items()
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFeature:
    """A feature that older images do not have."""

    what: str
    """In words."""
    since: date
    """The first day on which an image had it."""


def image_feature(key: str) -> ImageFeature:
    """Return a feature by our word for it: `slurm-config` or `accounting-database`."""
    told = load("image_features")[key]
    return ImageFeature(what=told["what"], since=date.fromisoformat(told["since"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One thing that an update loses or keeps."""

    what: str
    where: str
    """Where it is, and what of it."""
    on: str
    """On which nodes."""
    assumption: str | None
    """Id of the entry in the register of assumptions; `None` where a document of AWS or SchedMD proves it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftwareUpdate:
    """The facts."""

    lost: tuple[Effect, ...]
    controller_lost: tuple[Effect, ...]
    """Besides, where the controller is among the groups."""
    kept: tuple[Effect, ...]
    order: tuple[str, ...]
    """Roles in Slurm, those first that must be updated first."""
    tries: str
    """What HyperPod does when scripts fail in an update."""
    parallelcluster_lost: tuple[Effect, ...]
    service_lost: tuple[Effect, ...]


@cache
def software_update() -> SoftwareUpdate:
    """Return the facts, read once a process."""
    facts = load("software_update")
    return SoftwareUpdate(
        lost=_effects(facts["lost"]),
        controller_lost=_effects(facts["controller_lost"]),
        kept=_effects(facts["kept"]),
        order=tuple(facts["order"]),
        tries=facts["tries"],
        parallelcluster_lost=_effects(facts["parallelcluster_lost"]),
        service_lost=_effects(facts["service_lost"]),
    )


def _effects(rows: list[Mapping[str, Any]]) -> tuple[Effect, ...]:
    return tuple(
        Effect(what=row["what"], where=row["where"], on=row.get("on", ""), assumption=row.get("assumption"))
        for row in rows
    )
