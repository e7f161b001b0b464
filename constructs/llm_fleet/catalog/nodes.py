"""Nodes of clusters: users, the steps of their start, their failures in words, sessions on them; and Slurm: limits of
its names and accounts, its accounting database, the options of sbatch.
"""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenIds:
    """A range of user ids that is taken."""

    first: int
    last: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUserFacts:
    """What the systems on nodes keep for themselves of user names and ids."""

    name_form: re.Pattern[str]
    account_form: re.Pattern[str]
    """Of a Slurm account."""
    first_id: int
    last_id: int
    taken_ids: tuple[TakenIds, ...]
    example_id: int
    home_form: re.Pattern[str]
    """What a home must look like; stricter than Linux."""
    home_depth: int
    """How many folders its path names at least."""
    system_folders: frozenset[str]
    """Folders of the root that no home can be in."""
    taken_names: frozenset[str]
    """Users and groups that images and packages bring."""
    key_types: tuple[str, ...]
    """Types of public SSH keys, as their text begins."""


node_user_facts = reader(NodeUserFacts, "node_users")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStep:
    """One step of `lifecycle_scripts/llm_fleet_node/steps`, as its file declares it."""

    summary: str
    """What is so afterwards, in a few words."""
    roles: tuple[str, ...]
    """Roles of the nodes that take it."""
    hooks: tuple[str, ...]
    """Hooks in which it is taken."""
    needs: tuple[str, ...]
    """Steps that must be done before it."""


node_steps = reader(Mapping[str, NodeStep], "node_steps")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureWords:
    """One way in which a service says it."""

    pattern: re.Pattern[str]
    remedy: str
    verified: bool
    """Whether the source has it in these words."""
    source: str


_failure_words = reader(tuple[FailureWords, ...], "failure_words")


def remedy_for(text: str) -> str | None:
    """Return what to do about a failure that a service tells in `text`; `None` where nothing is known about it."""
    return next((row.remedy for row in _failure_words() if row.pattern.search(text)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """Names and limits of session documents and of Run As."""

    tag: str
    """Key of the tag of a role or user of IAM whose value is the node's user."""
    schema_version: str
    session_type: str
    """Of a session that is a shell."""
    idle_minutes: tuple[int, int]
    """Shortest and longest time without a key pressed."""
    duration_minutes: tuple[int, int]
    """Shortest and longest time of a session."""
    refused_users: frozenset[str]
    """Users that no session runs as."""
    image_users: frozenset[str]
    """Users that AWS's images bring along, each one of them."""


session_facts = reader(SessionFacts, "session_manager")
