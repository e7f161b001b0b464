"""What a user may write of a watch in short, written out: `restart: 3`, `checkpoints: hugging-face`, and the name of a
metric for a condition on it.
"""

from typing import Any, cast


def watch_in_long_form(watch: Any) -> Any:
    """Return `watch`, of the fleet or of a job, with each short form written out; all else stays as it is."""
    if not isinstance(watch, dict):
        return watch
    written = cast("dict[str, Any]", watch)
    readers = {"restart": _restart, "when": _conditions, "checkpoints": _checkpoints}
    return {key: readers[key](value) if key in readers else value for key, value in written.items()}


def _restart(written: Any) -> Any:
    return {"max": written} if isinstance(written, int) and not isinstance(written, bool) else written


def _checkpoints(written: Any) -> Any:
    return {"layout": written} if isinstance(written, str) else written


def _conditions(written: Any) -> Any:
    if not isinstance(written, dict):
        return written
    conditions = cast("dict[str, Any]", written)
    return {kind: {"metric": told} if isinstance(told, str) else told for kind, told in conditions.items()}
