"""FilterLogEvents applies the stream prefix, and patterns of several terms of which one must match (`?a ?b`).

moto returns every stream of the group for any prefix, and every event for a pattern with more than one word. moto still
handles other patterns (JSON, columns, regular expressions).

Source: model botocore logs FilterLogEvents
Source: assumption logs-any-of-several-terms
"""

import shlex
from typing import Any, cast

from moto.logs.models import LogsBackend, LogStream
from moto.logs.responses import LogsResponse

_OWN = "_llm_fleet_filters"
_NO_STREAM = ":none:"


def install() -> None:
    """Replace the operation and the matching."""
    if getattr(LogsResponse, _OWN, False):
        return
    setattr(LogsResponse, _OWN, True)
    _apply_prefix()
    _apply_terms()


def _apply_prefix() -> None:
    answered = LogsResponse.filter_log_events

    def filter_log_events(self: Any) -> str:
        prefix = self._get_param("logStreamNamePrefix")
        if prefix:
            backend = cast(LogsBackend, self.logs_backend)
            group = backend.groups.get(self._get_param("logGroupName"))
            names = [name for name in (group.streams if group else {}) if name.startswith(prefix)]
            # Without names, moto searches all streams.
            given, named = self._get_param, names or [_NO_STREAM]

            def get_param(name: str, default: Any = None) -> Any:
                return named if name == "logStreamNames" else given(name, default)

            self._get_param = get_param
        return answered(self)

    LogsResponse.filter_log_events = filter_log_events  # type: ignore[method-assign]


def _apply_terms() -> None:
    all_events = LogStream.filter_log_events

    def filter_log_events(self: LogStream, start_time: int, end_time: int, filter_pattern: str) -> list[dict[str, Any]]:
        if not (filter_pattern or "").startswith("?"):
            return all_events(self, start_time, end_time, filter_pattern)
        terms = [term.removeprefix("?") for term in shlex.split(filter_pattern)]
        events = all_events(self, start_time, end_time, "")
        return [event for event in events if any(term in event["message"] for term in terms)]

    LogStream.filter_log_events = filter_log_events  # type: ignore[method-assign]
