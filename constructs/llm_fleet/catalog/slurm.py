"""Slurm: limits of its names and accounts, its accounting database, the options of sbatch."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.limit import frozen


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmLimitFacts:
    """What accounts and limits of Slurm must look like."""

    largest: Mapping[str, int]
    """The largest limit that slurmdbd takes: by `fairshare`, `max_wall_minutes`, `resource`, and `count` for others."""
    counted: tuple[str, ...]
    """Resources (TRES) that every Slurm counts without being told to."""
    tres_form: re.Pattern[str]
    """How a resource is written, as a whole."""
    enforce: tuple[str, ...]
    """What `AccountingStorageEnforce` must say for limits to hold."""
    root_account: str
    """The account above all, which every Slurm has."""
    image_account: str
    """Where nodes put the image's own user, who could submit no job otherwise."""
    first_mapped_id: int
    """The lowest id that SSSD gives a person of a directory, unless told otherwise."""
    last_mapped_id: int
    """The highest."""


@cache
def slurm_limit_facts() -> SlurmLimitFacts:
    """Return the facts, read once a process."""
    facts = load("slurm_limits")
    return SlurmLimitFacts(
        largest=facts["largest"],
        counted=tuple(facts["counted"]),
        tres_form=re.compile(facts["tres_pattern"]),
        enforce=tuple(facts["enforce"]),
        root_account=facts["root_account"],
        image_account=facts["image_account"],
        first_mapped_id=facts["mapped_ids"]["first"],
        last_mapped_id=facts["mapped_ids"]["last"],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFacts:
    """One engine that speaks MySQL's protocol."""

    families: Mapping[str, str]
    """Parameter group family by major version."""
    default: str
    """The version to take unless told."""
    logs: tuple[str, ...]
    """Logs that go to CloudWatch."""
    backup_days: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmDatabaseFacts:
    """Limits of databases for accounting."""

    engines: Mapping[str, EngineFacts]
    capacity_units: tuple[float, float]
    """Aurora capacity units of about 2 GiB of memory each."""
    capacity_step: float
    pauses_from_aurora: tuple[int, int, int]
    """The first version of Aurora MySQL that can pause at 0 units."""
    storage_gib: tuple[int, int]
    user_name: str
    """A regular expression."""
    reserved_user_names: tuple[str, ...]
    port: int
    ports: tuple[int, int]
    slurmdbd_port: int
    database_name: str
    """A regular expression, ParallelCluster's."""
    secret_arn: str
    """A regular expression."""
    least_zones: int
    """AZs that a DB subnet group must have subnets in."""
    lock_wait_seconds: int
    max_allowed_packet_bytes: int
    password_length: int


@cache
def slurm_database_facts() -> SlurmDatabaseFacts:
    """Return what RDS sells and what ParallelCluster takes."""
    facts: dict[str, Any] = {name: frozen(value) for name, value in load("slurm_database").items()}
    engines = {name: EngineFacts(**_frozen(engine)) for name, engine in facts.pop("engines").items()}
    return SlurmDatabaseFacts(engines=engines, **facts)


def _frozen(engine: Mapping[str, Any]) -> dict[str, Any]:
    return {name: frozen(value) for name, value in engine.items()}


@cache
def sbatch_options() -> frozenset[str]:
    """Return their long names, without dashes."""
    return frozenset(load("sbatch_options")["options"])


def long_name(name: str) -> str:
    """Return the long name of an option such as `-N`; `name` itself when it is no short one that sbatch has."""
    return load("sbatch_options")["short"].get(name.removeprefix("-"), name) if len(name) == 2 else name


def remedy_elsewhere(name: str) -> str | None:
    """Return what to do about an option that belongs elsewhere, or `None` when nothing special is known of it."""
    return load("sbatch_options")["elsewhere"].get(name)
