"""What the start of a node came to, as far as its log or its report tells."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class Source(StrEnum):
    """Where that was read."""

    LOG = "log"
    """The platform's log in CloudWatch."""
    REPORT = "report"
    """The report that the node itself left in S3."""
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRun:
    """One step's part in a run."""

    name: str
    state: str
    """`done`, `failed`, `not reached`, `running`."""
    seconds: float | None = None
    code: str | None = None
    cause: str | None = None
    remedy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRun:
    """A node's last run."""

    node: str
    """Instance id, or the host's name where the platform gives none."""
    group: str
    source: Source
    lives: bool = True
    """Whether the cluster has the node now; one that failed is soon replaced."""
    hook: str | None = None
    started: datetime | None = None
    seconds: float | None = None
    code: str | None = None
    """`OK`, `LFN…`; `None` where it has not ended, or nobody knows."""
    cause: str | None = None
    remedy: str | None = None
    steps: tuple[StepRun, ...] = ()
    failed_before: int = 0
    """Runs in the log before this one that failed: a platform tries again without a word."""
    place: str | None = None
    """Stream or URI."""

    @property
    def failed(self) -> bool:
        """Whether it ended with a failure."""
        return self.code is not None and self.code != "OK"

    @property
    def step(self) -> str | None:
        """The step that failed first, or the one that runs."""
        told = [step for step in self.steps if step.code or step.state == "failed"]
        running = [step for step in self.steps if step.state == "running"]
        if told:
            return told[0].name
        return running[-1].name if running and self.code is None else None

    @property
    def words(self) -> str:
        """How it ended, in a word or two."""
        if self.code == "OK":
            return "ok"
        if self.code:
            return "FAILED"
        return "no log" if self.source is Source.NOTHING else "not ended"

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {
            "node": self.node,
            "group": self.group,
            "lives": self.lives,
            "outcome": self.words,
            "hook": self.hook,
            "started": self.started,
            "seconds": self.seconds,
            "step": self.step,
            "code": self.code,
            "cause": self.cause,
            "remedy": self.remedy,
            "failed_before": self.failed_before,
            "source": self.source.value,
            "place": self.place,
            "steps": [{name: getattr(step, name) for name in StepRun.__slots__} for step in self.steps],
        }
