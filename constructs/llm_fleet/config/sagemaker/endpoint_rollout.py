"""How an update reaches an endpoint."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.config.sagemaker.rollout_word import RolloutWord
from llm_fleet.rules.sagemaker.rollout_kind import RolloutKind
from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import Seconds


class EndpointRolloutConfig(FleetModel):
    """In which steps traffic goes over to what an update brings, and what rolls it back (`EndpointRolloutLike`)."""

    written_as: ClassVar[Mapping[str, str]] = {"kind": "kind"}

    word: RolloutWord = Field(default=RolloutWord.ALL_AT_ONCE, alias="kind")
    """`all-at-once`, `canary`, `linear` or `rolling`. Default: `all-at-once`, the only one for a single instance."""
    percent: int | None = None
    """Size of a step in percent of the instances. Default: 10 of a canary, 25 linear and rolling."""
    bake_seconds: Seconds | None = Field(default=None, alias="watch")
    """How long each step is looked at by the alarms: `300 s` to `1 h`. Default: `10 min`."""
    termination_wait_seconds: Seconds | None = Field(default=None, alias="keep_old")
    """How long the old instances stay once the new ones have all traffic, up to `1 h`. Default: `2 min`."""
    timeout_seconds: Seconds | None = Field(default=None, alias="timeout")
    """How long the whole update may take: `10 min` to `8 h`. Default: the service's own."""
    alarm_names: tuple[str, ...] = Field(default=(), alias="alarms")
    """CloudWatch alarms of yours that roll back too, by name, 8 at most. Default: the endpoint's own alone."""

    @property
    def kind(self) -> RolloutKind:
        """As the rules have it."""
        return self.word.rollout_kind
