"""What a user may write of a monitoring in short, written out: `metrics: cloudwatch`, and `alarms: arn:…`."""

from typing import Any, cast

from llm_fleet.config.monitoring.metrics import metrics_in_long_form


def monitoring_in_long_form(monitoring: Any) -> Any:
    """Return `monitoring` with each short form written out; what is of another form stays as it is."""
    if not isinstance(monitoring, dict):
        return monitoring
    written = cast("dict[str, Any]", monitoring)
    readers = {"metrics": metrics_in_long_form, "alarms": _alarms}
    return {key: readers[key](value) if key in readers else value for key, value in written.items()}


def _alarms(written: Any) -> Any:
    return {"topic": written} if isinstance(written, str) else written
