"""What is known of HyperPod beyond its API model."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from llm_fleet.catalog.cron_field import CronField
from llm_fleet.catalog.data_file import load


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
