"""How an update reaches an endpoint."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.endpoint_rollout import check_rollout
from llm_fleet.rules.sagemaker.rollout_kind import RolloutKind


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointRollout:
    """In which steps traffic goes over to a new model, image or instance, and what rolls it back.

    While a step is looked at, the endpoint's own alarms on server errors and latency, and those of `alarm_names`, put
    all traffic back when they ring. `EndpointRollout()` is `EndpointRollout.all_at_once()`.

    Raises `FleetError` for a step of a size that SageMaker refuses (LF950), for waits out of range, too short for an
    alarm or longer than the timeout (LF951), for alarms that are none or too many (LF953), and for what its kind does
    not have (LF117).
    """

    kind: RolloutKind = RolloutKind.ALL_AT_ONCE
    """In which steps."""
    percent: int | None = None
    """Size of a step in percent of the instances. Default: 10 of a canary, 25 linear and rolling; none all at once."""
    bake_seconds: int | None = None
    """How long each step is looked at: 300 to 3600. Default: 600."""
    termination_wait_seconds: int | None = None
    """How long the old fleet stays once the new one has all traffic: 0 to 3600. Default: 120; none when rolling."""
    timeout_seconds: int | None = None
    """How long the whole update may take: 600 to 28800, and longer than all waits. Default: the service's own."""
    alarm_names: Sequence[str] = ()
    """Alarms of yours that roll back too, by their names: 8 at most."""

    def __post_init__(self) -> None:
        """Raise `FleetError` with everything that is wrong."""
        raise_problems(check_rollout(self), subject="EndpointRollout")

    @classmethod
    def all_at_once(
        cls,
        *,
        bake_seconds: int | None = None,
        termination_wait_seconds: int | None = None,
        timeout_seconds: int | None = None,
        alarm_names: Sequence[str] = (),
    ) -> Self:
        """Return a rollout whose new fleet takes all traffic at once: the only one for a single instance.

        For an hour or less there are twice the instances, and twice their price.
        """
        return cls(
            bake_seconds=bake_seconds,
            termination_wait_seconds=termination_wait_seconds,
            timeout_seconds=timeout_seconds,
            alarm_names=alarm_names,
        )

    @classmethod
    def canary(
        cls,
        *,
        percent: int | None = None,
        bake_seconds: int | None = None,
        termination_wait_seconds: int | None = None,
        timeout_seconds: int | None = None,
        alarm_names: Sequence[str] = (),
    ) -> Self:
        """Return a rollout whose new fleet takes `percent` (1 to 50, default 10) of the traffic, then the rest."""
        return cls(
            kind=RolloutKind.CANARY,
            percent=percent,
            bake_seconds=bake_seconds,
            termination_wait_seconds=termination_wait_seconds,
            timeout_seconds=timeout_seconds,
            alarm_names=alarm_names,
        )

    @classmethod
    def linear(
        cls,
        *,
        percent: int | None = None,
        bake_seconds: int | None = None,
        termination_wait_seconds: int | None = None,
        timeout_seconds: int | None = None,
        alarm_names: Sequence[str] = (),
    ) -> Self:
        """Return a rollout whose new fleet takes the traffic in steps of `percent` (10 to 50, default 25)."""
        return cls(
            kind=RolloutKind.LINEAR,
            percent=percent,
            bake_seconds=bake_seconds,
            termination_wait_seconds=termination_wait_seconds,
            timeout_seconds=timeout_seconds,
            alarm_names=alarm_names,
        )

    @classmethod
    def rolling(
        cls,
        *,
        percent: int | None = None,
        bake_seconds: int | None = None,
        timeout_seconds: int | None = None,
        alarm_names: Sequence[str] = (),
    ) -> Self:
        """Return a rollout that replaces `percent` (5 to 50, default 25) of the instances at a time.

        It needs no second fleet: for instances that are hard to have.
        """
        return cls(
            kind=RolloutKind.ROLLING,
            percent=percent,
            bake_seconds=bake_seconds,
            timeout_seconds=timeout_seconds,
            alarm_names=alarm_names,
        )
