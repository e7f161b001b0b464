"""What the picture shows: one card, and one line between two of them."""

from dataclasses import dataclass

from llm_fleet.cli.plan.picture.terms import Column, Tone, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """One card."""

    key: str
    """`<stack>.<logical id>`, or the name of what exists already."""
    title: str
    lines: tuple[str, ...]
    tone: Tone
    column: Column
    stack: str = ""
    """The stack that makes it; empty for what exists already."""
    subnets: tuple[str, ...] = ()
    """Keys of its subnets; an id where they exist already. Empty: it stands in none."""
    vpc: str | None = None
    """The VPC in which it stands without a subnet, as a gateway does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One line."""

    source: str
    target: str
    verb: Verb
    how: str = ""
    """A word more, e.g. where a file system is mounted."""
