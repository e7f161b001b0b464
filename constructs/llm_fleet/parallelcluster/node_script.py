"""A script that ParallelCluster fetches and runs on a node."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeScript:
    """A script and its arguments (`Script`, `Args`). Arguments are logged: no secret may be among them."""

    script: str
    """Where it is, `s3://…`."""
    args: Sequence[str] = ()
    """What it is called with."""
