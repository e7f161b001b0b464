"""The kinds of rollout in the fleet file's words."""

from enum import StrEnum

from llm_fleet.rules.sagemaker.rollout_kind import RolloutKind


class RolloutWord(StrEnum):
    """In which steps an update reaches an endpoint."""

    ALL_AT_ONCE = "all-at-once"
    CANARY = "canary"
    LINEAR = "linear"
    ROLLING = "rolling"

    @property
    def rollout_kind(self) -> RolloutKind:
        """The rules' word for it."""
        return RolloutKind[self.name]
