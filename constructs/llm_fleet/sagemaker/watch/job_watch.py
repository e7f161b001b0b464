"""How one job is watched otherwise than the rest."""

from collections.abc import Sequence
from dataclasses import dataclass

from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.watch_conditions import check_grace
from llm_fleet.sagemaker.watch.checkpoint_layout import CheckpointLayout
from llm_fleet.sagemaker.watch.conditions import WatchCondition, check_kinds
from llm_fleet.sagemaker.watch.restart_policy import RestartPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class JobWatch:
    """What one job has of its own; `None` is what its watch says. Raises `FleetError` for a kind twice (LF994),
    and for a grace that no alarm knows (LF986)."""

    restart: RestartPolicy | None = None
    """How it is started again."""
    conditions: Sequence[WatchCondition] | None = None
    """When it runs in vain; `()` for never. They replace all of the watch's."""
    checkpoints: CheckpointLayout | None = None
    """How its checkpoints lie."""
    grace_minutes: int | None = None
    """How long it trains before a condition is believed."""

    def __post_init__(self) -> None:
        """Raise `FleetError` when something is wrong."""
        problems = [*check_kinds(self.conditions or ()), *check_grace(self.grace_minutes)]
        raise_problems(problems, subject="JobWatch")
