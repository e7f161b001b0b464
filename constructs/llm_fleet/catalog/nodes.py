"""Nodes of clusters: users, start steps, start failures as text, sessions; and Slurm: limits of names and accounts, the
accounting database, sbatch options.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from llm_fleet.catalog.data_file import load, reader


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmLimitFacts:
    """Patterns and bounds of Slurm accounts and limits."""

    largest: Mapping[str, int]
    """Largest limit that slurmdbd accepts: by `fairshare`, `max_wall_minutes`, `resource`, and `count` for others."""
    counted: tuple[str, ...]
    """Resources (TRES) that Slurm tracks by default."""
    tres_form: re.Pattern[str]
    """Pattern of a whole TRES name."""
    enforce: tuple[str, ...]
    """Values of `AccountingStorageEnforce` that enforce limits."""
    root_account: str
    """Slurm's root account, which always exists."""
    image_account: str
    """The account that nodes create for the AMI's user, who could not submit jobs without one."""
    first_mapped_id: int
    """The lowest user id that SSSD maps for directory users by default."""
    last_mapped_id: int
    """The highest user id that SSSD maps by default."""


slurm_limit_facts = reader(SlurmLimitFacts, "slurm_limits")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFacts:
    """One MySQL-compatible engine of RDS."""

    families: Mapping[str, str]
    """Parameter group family by major version."""
    default: str
    """The default version."""
    logs: tuple[str, ...]
    """Logs that are exported to CloudWatch Logs."""
    backup_days: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmDatabaseFacts:
    """Limits of databases for Slurm accounting."""

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
    """Minimum number of AZs of a DB subnet group."""
    lock_wait_seconds: int
    max_allowed_packet_bytes: int
    password_length: int


slurm_database_facts = reader(SlurmDatabaseFacts, "slurm_database")
"""Limits of RDS and ParallelCluster."""
sbatch_options = reader(frozenset[str], "sbatch_options", "options")
"""Long names of sbatch options, without dashes."""


def long_name(name: str) -> str:
    """Return the long name of an option such as `-N`; `name` itself when it is not a short option of sbatch."""
    return load("sbatch_options")["short"].get(name.removeprefix("-"), name) if len(name) == 2 else name


def remedy_elsewhere(name: str) -> str | None:
    """Return the remedy for an option that must be set elsewhere, or `None` for other options."""
    return load("sbatch_options")["elsewhere"].get(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenIds:
    """A reserved range of user ids."""

    first: int
    last: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUserFacts:
    """Reserved user names and ids on nodes, and patterns of a user's settings."""

    name_form: re.Pattern[str]
    account_form: re.Pattern[str]
    """Pattern of a Slurm account."""
    first_id: int
    last_id: int
    taken_ids: tuple[TakenIds, ...]
    example_id: int
    home_form: re.Pattern[str]
    """Pattern of a home directory; stricter than Linux."""
    home_depth: int
    """Minimum number of path components of a home directory."""
    system_folders: frozenset[str]
    """Top-level directories that cannot contain a home directory."""
    taken_names: frozenset[str]
    """Users and groups of AMIs and packages."""
    key_types: tuple[str, ...]
    """Types of public SSH keys, the first word of a key."""


node_user_facts = reader(NodeUserFacts, "node_users")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStep:
    """One step of `lifecycle_scripts/llm_fleet_node/steps`, as its file declares it."""

    summary: str
    """The result of the step, in a few words."""
    roles: tuple[str, ...]
    """Roles of the nodes that run it."""
    hooks: tuple[str, ...]
    """Hooks that run it."""
    needs: tuple[str, ...]
    """Steps that must run before it."""


node_steps = reader(Mapping[str, NodeStep], "node_steps")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureWords:
    """One error text of a service."""

    pattern: re.Pattern[str]
    remedy: str
    verified: bool
    """Whether the source has exactly this text."""
    source: str


_failure_words = reader(tuple[FailureWords, ...], "failure_words")


def remedy_for(text: str) -> str | None:
    """Return the remedy for a service's failure message `text`; `None` for an unknown one."""
    return next((row.remedy for row in _failure_words() if row.pattern.search(text)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """Names and limits of Session Manager documents and Run As."""

    tag: str
    """Tag key of an IAM role or user; the value is the user on the node."""
    schema_version: str
    session_type: str
    """Session type of a shell."""
    idle_minutes: tuple[int, int]
    """Minimum and maximum idle timeout."""
    duration_minutes: tuple[int, int]
    """Minimum and maximum session duration."""
    refused_users: frozenset[str]
    """Users that a session cannot run as."""
    image_users: frozenset[str]
    """The default users of AWS's AMIs; each AMI has one of them."""


session_facts = reader(SessionFacts, "session_manager")
