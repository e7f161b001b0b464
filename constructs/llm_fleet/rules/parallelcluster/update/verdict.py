"""What an update has to say to a change."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What a change asks for, from the mildest to the gravest."""

    FREE = "free"
    """It takes effect with no node stopped and no job disturbed."""
    DRAINS = "drains the queue"
    """Nodes are replaced once their jobs have ended (`QueueUpdateStrategy: DRAIN`)."""
    TERMINATES = "ends nodes and their jobs"
    """Nodes are ended at once, their jobs with them (`QueueUpdateStrategy: TERMINATE`)."""
    UNKNOWN = "known at deployment only"
    """A literal value stands against one that CloudFormation works out: they may be the same."""
    NEEDS_STOPPED_LOGIN_NODES = "needs stopped login nodes"
    """Login nodes must be stopped before, by a deployment with `Count` 0."""
    NEEDS_STOPPED_FLEET = "needs a stopped fleet"
    """The compute fleet must be stopped before; the provider never does that."""
    NEEDS_NEW_NAME = "needs another name for the item"
    """The item cannot be changed, but another one put in its place: one of another name."""
    NEEDS_NEW_CLUSTER = "needs a new cluster"
    """No update can make it."""

    @property
    def passes(self) -> bool:
        """Whether the update would go through, as far as can be known."""
        return self in (Verdict.FREE, Verdict.DRAINS, Verdict.TERMINATES, Verdict.UNKNOWN)

    @property
    def rank(self) -> int:
        """How grave it is; the mildest is 0."""
        return list(Verdict).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict on one change."""

    verdict: Verdict
    reason: str
    remedy: str = ""
    """What to do about it; empty where nothing need be done."""
