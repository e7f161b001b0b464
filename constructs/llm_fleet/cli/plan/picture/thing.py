"""What the picture shows: one card, and one line between two of them."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Column(IntEnum):
    """Columns of the picture from left to right: what asks, what computes, what keeps; then what stands in no VPC."""

    FRONT = 0
    COMPUTE = 1
    STORAGE = 2
    REGION = 3


class Tone(StrEnum):
    """What sort of thing a card shows; its colour."""

    FRONT = "front"
    COMPUTE = "compute"
    STORAGE = "storage"
    WATCH = "watch"
    NETWORK = "network"


class Verb(StrEnum):
    """What one thing does with another; a line's colour and dashes. The words stand in the legend."""

    ASKS = "sends requests to"
    MOUNTS = "mounts"
    READS = "reads"
    WRITES = "reads and writes"
    LOGS = "writes logs to"
    SYNCS = "imports from, exports to"
    USES = "uses"
    TELLS = "alarms tell"
    WATCHED = "is watched by"


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
