"""Words of the picture: its columns, its colours, its lines."""

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
