"""What a user may write in short, written out: `network: none`, `accounting: local`, `root_volume: 200 GiB`,
`data: s3://…`.

Not validators of the fields: below one, pydantic takes values for Python's own, and lists for no tuples.
"""

from collections.abc import Callable
from typing import Any, cast

from llm_fleet.fleet_file.accounting import LOCAL_ACCOUNTING
from llm_fleet.fleet_file.fleet import NO_NETWORK, Fleet
from llm_fleet.spec import spec

_Change = Callable[[Any], Any]


def in_long_form(data: dict[str, Any]) -> dict[str, Any]:
    """Return `data` with each short form written out; what is of another form stays as it is."""
    read = {**data, "network": None} if data.get("network") == NO_NETWORK else data
    read = _under(read, "clusters", _each(_cluster))
    return cast("dict[str, Any]", spec.in_long_form(Fleet, read))


def _cluster(cluster: Any) -> Any:
    if _is_parallelcluster(cluster):
        return cluster  # Its head node has no database of its own.
    return _under(cluster, "accounting", lambda written: None if written == LOCAL_ACCOUNTING else written)


def _is_parallelcluster(cluster: Any) -> bool:
    return isinstance(cluster, dict) and cast("dict[str, Any]", cluster).get("kind") == "parallelcluster"


def _under(holder: Any, key: str, change: _Change) -> Any:
    """Return `holder` with `change` made to what lies under `key`; as it is where nothing does."""
    if not isinstance(holder, dict) or key not in holder:
        return holder  # pyright: ignore[reportUnknownVariableType]
    given = cast("dict[str, Any]", holder)
    return {**given, key: change(given[key])}


def _each(change: _Change) -> _Change:
    """Return the change of a mapping that makes `change` to each of its entries."""

    def of_entries(entries: Any) -> Any:
        if not isinstance(entries, dict):
            return entries
        return {name: change(entry) for name, entry in cast("dict[str, Any]", entries).items()}

    return of_entries
