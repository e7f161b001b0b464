"""Nodes of clusters: users, the steps of their start, their failures in words, sessions on them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from llm_fleet.catalog.data_file import reader


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
