"""What rules of a watch need of its parts; config models and the values of `TrainingWatch` have it."""

from collections.abc import Sequence
from typing import Protocol


class RestartPolicyLike(Protocol):
    """How jobs are started again (`RestartPolicy`). `None` is the catalog's figure."""

    @property
    def maximum(self) -> int | None:
        """How often one job is started again, all causes together."""
        ...

    @property
    def back_off_seconds(self) -> int | None:
        """Before the first restart; doubled before each further one."""
        ...

    @property
    def longest_back_off_seconds(self) -> int | None:
        """However often it was doubled."""
        ...

    @property
    def at_max_runtime(self) -> bool | None:
        """Whether a job that was stopped for its length goes on in another."""
        ...


class ConditionLike(Protocol):
    """One condition on a metric."""

    @property
    def metric(self) -> str:
        """Name of a metric definition of the job."""
        ...


class LossSpikeLike(ConditionLike, Protocol):
    """A loss well above the best of late (`LossSpike`)."""

    @property
    def factor(self) -> float | None:
        """Above the smallest of the window."""
        ...

    @property
    def minutes(self) -> int | None:
        """Of so many minutes with a value."""
        ...

    @property
    def window_minutes(self) -> int | None:
        """How far back it looks."""
        ...


class StallLike(ConditionLike, Protocol):
    """A metric of which nothing comes any more (`Stall`)."""

    @property
    def minutes(self) -> int | None:
        """For so long."""
        ...


class ThroughputDropLike(ConditionLike, Protocol):
    """A throughput well below the best of late (`ThroughputDrop`)."""

    @property
    def below_fraction(self) -> float | None:
        """Of the greatest in the window."""
        ...

    @property
    def minutes(self) -> int | None:
        """Of so many minutes with a value."""
        ...

    @property
    def window_minutes(self) -> int | None:
        """How far back it looks."""
        ...


class CheckpointLayoutLike(Protocol):
    """How checkpoints lie below their prefix (`CheckpointLayout`)."""

    @property
    def known(self) -> str | None:
        """One that the function knows by name; `None` for one that is told."""
        ...

    @property
    def pattern(self) -> str | None:
        """Regular expression of a checkpoint's folder, whose one group is the step."""
        ...

    @property
    def marker(self) -> str | None:
        """A file in it that is written last."""
        ...

    @property
    def pointer(self) -> str | None:
        """A file beside the folders that names the newest."""
        ...


class WatchedJobsLike(Protocol):
    """Jobs that others start (`WatchedJobs`)."""

    @property
    def prefix(self) -> str:
        """What their names begin with."""
        ...

    @property
    def roles(self) -> Sequence[object]:
        """What they run as."""
        ...

    @property
    def checkpoints(self) -> Sequence[str]:
        """S3 URIs below which they write them."""
        ...
