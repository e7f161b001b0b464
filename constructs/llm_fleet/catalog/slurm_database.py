"""What RDS sells as a database for slurmdbd, and what ParallelCluster takes of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.steps import frozen


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
