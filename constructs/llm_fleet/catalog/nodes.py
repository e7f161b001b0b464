"""Nodes of clusters: users, the steps of their start, their failures in words, sessions on them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUserFacts:
    """What the systems on nodes keep for themselves of user names and ids."""

    name_form: re.Pattern[str]
    account_form: re.Pattern[str]
    """Of a Slurm account."""
    first_id: int
    last_id: int
    taken_ids: tuple[tuple[int, int, str], ...]
    """First and last id of each range that is taken, and why."""
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


@cache
def node_user_facts() -> NodeUserFacts:
    """Return the facts, read once a process."""
    facts = load("node_users")
    return NodeUserFacts(
        name_form=re.compile(facts["name_pattern"]),
        account_form=re.compile(facts["account_pattern"]),
        first_id=facts["first_id"],
        last_id=facts["last_id"],
        taken_ids=tuple((taken["first"], taken["last"], taken["why"]) for taken in facts["taken_ids"]),
        example_id=facts["example_id"],
        home_form=re.compile(facts["home_pattern"]),
        home_depth=facts["home_depth"],
        system_folders=frozenset(facts["system_folders"]),
        taken_names=frozenset(facts["taken_names"]),
        key_types=tuple(facts["key_types"]),
    )


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


@cache
def node_steps() -> Mapping[str, NodeStep]:
    """Return the steps by name."""
    return {
        name: NodeStep(
            summary=facts["summary"],
            roles=tuple(facts["roles"]),
            hooks=tuple(facts["hooks"]),
            needs=tuple(facts["needs"]),
        )
        for name, facts in load("node_steps").items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureWords:
    """One way in which a service says it."""

    pattern: re.Pattern[str]
    remedy: str


@cache
def _rows() -> tuple[FailureWords, ...]:
    return tuple(
        FailureWords(pattern=re.compile(row["pattern"]), remedy=row["remedy"]) for row in load("failure_words")
    )


def remedy_for(text: str) -> str | None:
    """Return what to do about a failure that a service tells in `text`; `None` where nothing is known about it."""
    return next((row.remedy for row in _rows() if row.pattern.search(text)), None)


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


@cache
def session_facts() -> SessionFacts:
    """Return the facts, read once a process."""
    facts = load("session_manager")
    return SessionFacts(
        tag=facts["tag"],
        schema_version=facts["schema_version"],
        session_type=facts["session_type"],
        idle_minutes=tuple(facts["idle_minutes"]),
        duration_minutes=tuple(facts["duration_minutes"]),
        refused_users=frozenset(facts["refused_users"]),
        image_users=frozenset(facts["image_users"]),
    )
