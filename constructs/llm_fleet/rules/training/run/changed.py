"""A run as it would be with other values."""

from collections.abc import Mapping
from typing import Any, cast

from llm_fleet.rules.training.run.protocols import RunLike


class _Changed:
    def __init__(self, run: RunLike, changes: Mapping[str, Any]) -> None:
        self._run, self._changes = run, changes

    def __getattr__(self, name: str) -> Any:
        return self._changes[name] if name in self._changes else getattr(self._run, name)


def changed(run: RunLike, changes: Mapping[str, Any]) -> RunLike:
    """Return `run` with `changes`, values by attribute name, in place of its own."""
    return cast(RunLike, _Changed(run, changes))
