"""From when on somebody is called."""

from dataclasses import dataclass

from llm_fleet.rules.inference.alarms import check_thresholds
from llm_fleet.rules.problem import raise_problems


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmThresholds:
    """From when on the alarms of a service ring; `None` is the catalog's figure.

    Raises `FleetError` (LF775) for what is no number above 0.
    """

    time_to_first_token_seconds: float | None = None
    """Average time to the first token over five minutes, three times on end. Default: 10 seconds.

    A reader of a stream has given up by then. A service for long prompts needs more.
    """
    waiting_requests: float | None = None
    """Requests that wait in a task on average, for ten minutes. Default: twice the batch.

    The last in such a queue waits for two whole answers before its own begins.
    """
    server_error_percent: float | None = None
    """Requests that failed in servers, of a hundred, in two of three times five minutes. Default: 5."""

    def __post_init__(self) -> None:
        """Raise `FleetError` with everything that is wrong."""
        raise_problems(check_thresholds(self), subject="AlarmThresholds")
