"""What must be known of file systems and databases to watch them."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from llm_fleet.rules.tokens import is_unresolved

_ELASTIC = "INTELLIGENT_TIERING"


@runtime_checkable
class WatchedFileSystem(Protocol):
    """A file system of FSx, made here or elsewhere."""

    @property
    def file_system_id(self) -> str:
        """The id, `fs-…`."""
        ...


@runtime_checkable
class WatchedDatabase(Protocol):
    """A database for accounting that was made here: `SlurmDatabase`. Of one that was imported, nobody told the id."""

    def metric(self, name: str) -> Any:
        """Return a metric of RDS."""
        ...


def capacity_of(file_system: Any) -> tuple[bool, float | None]:
    """Return whether a Lustre file system grows by itself, and its GiB; `None` where nobody tells, as of one imported.

    Only a file system that was made here has an L1 that says so.
    """
    resource = getattr(file_system, "resource", None)
    if resource is None:
        return False, None
    capacity = getattr(resource, "storage_capacity", None)
    known = capacity if capacity is not None and not is_unresolved(capacity) else None
    return getattr(resource, "storage_type", None) == _ELASTIC, known


def dimensions_of(database: WatchedDatabase) -> Mapping[str, str]:
    """Return the dimensions of the metrics of a database."""
    return dict(database.metric("DatabaseConnections").dimensions or {})
