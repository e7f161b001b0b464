"""What one alarm looks at, when it rings, and what to do then. Plain data."""

from dataclasses import dataclass

from llm_fleet.notifications.metric import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmPlan:
    """One alarm. It rings when `ringing` of the last `periods` values are beyond `threshold`."""

    id: str
    """Construct id, and the end of the alarm's name."""
    measure: Measure
    """What is looked at, with its period."""
    threshold: float
    below: bool = False
    """Whether it rings below the threshold; else at it and above."""
    periods: int
    ringing: int
    missing: str
    """What no value means: `notBreaching` all is well, `breaching` it is not, `missing` nobody knows."""
    meaning: str
    """What has happened, and what to do. One line, for whoever is called at night."""
    tells_silence: bool = False
    """Whether it tells when it no longer knows anything; only with `missing` for no value.

    For what must speak: an alarm on no value as `breaching` rings at its own deployment, before anything could speak.
    This one begins without knowledge, and CloudWatch acts only on a change.
    """
