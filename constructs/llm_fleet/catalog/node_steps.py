"""The steps that nodes take, so that synth can judge what a user says of them without running node code."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStep:
    """One step of `lifecycle_scripts/llm_fleet_node/steps`, as its file declares it."""

    summary: str
    """What is so afterwards, in a few words."""
    roles: tuple[str, ...]
    """Roles of the nodes that take it."""
    hooks: tuple[str, ...]
    """Hooks in which it is taken."""
    needs: tuple[str, ...]
    """Steps that must be done before it."""


@cache
def node_steps() -> Mapping[str, NodeStep]:
    """Return the steps by name."""
    return {
        name: NodeStep(
            summary=facts["summary"],
            roles=tuple(facts["roles"]),
            hooks=tuple(facts["hooks"]),
            needs=tuple(facts["needs"]),
        )
        for name, facts in load("node_steps").items()
    }
