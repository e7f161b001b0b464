"""Facts about the VPC endpoints that nodes need."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One interface endpoint, under the name after `com.amazonaws.<region>.`."""

    name: str
    purpose: str
    """What nodes use it for."""
    needed_by: tuple[str, ...]
    """Which features need it; `always` for every node without internet."""
    beside_nat: bool
    """Whether it is made beside NAT too: a node whose way out is broken can still be entered, and its logs read."""
    own_principals_only: bool
    """Whether its policy may admit principals of the own account only, because the service's agents do not call it."""


@cache
def node_endpoints() -> tuple[Endpoint, ...]:
    """Return the interface endpoints that nodes need, in the order of the data file."""
    return tuple(Endpoint(needed_by=tuple(facts["needed_by"]), **_others(facts)) for facts in load("endpoints"))


def _others(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if name != "needed_by"}


@cache
def endpoint_names() -> frozenset[str]:
    """Return the names of all interface endpoints that AWS offers."""
    return frozenset(load("endpoint_names"))
