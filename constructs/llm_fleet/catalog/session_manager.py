"""What Session Manager knows of sessions that run as a user of the node."""

from dataclasses import dataclass
from functools import cache

from llm_fleet.catalog.data_file import load


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
