"""Slurm: limits of its names and accounts, its accounting database, the options of sbatch."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from llm_fleet.catalog.data_file import load, reader


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


slurm_limit_facts = reader(SlurmLimitFacts, "slurm_limits")


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


slurm_database_facts = reader(SlurmDatabaseFacts, "slurm_database")
"""What RDS sells and what ParallelCluster takes."""
sbatch_options = reader(frozenset[str], "sbatch_options", "options")
"""Their long names, without dashes."""


def long_name(name: str) -> str:
    """Return the long name of an option such as `-N`; `name` itself when it is no short one that sbatch has."""
    return load("sbatch_options")["short"].get(name.removeprefix("-"), name) if len(name) == 2 else name


def remedy_elsewhere(name: str) -> str | None:
    """Return what to do about an option that belongs elsewhere, or `None` when nothing special is known of it."""
    return load("sbatch_options")["elsewhere"].get(name)
