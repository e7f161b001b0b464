"""A step of one's own among those that nodes take."""

from collections.abc import Sequence
from dataclasses import dataclass

from llm_fleet.rules.terms import NodeType


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnStep:
    """A script of your own, run as one of the node's steps: in order, timed, tried again, verified and reported.

    It is called twice, with `apply` and then with `verify` as its argument. `apply` makes it so and may be run any
    number of times; `verify` changes nothing and ends with 0 only when it is so. It runs as root, by bash when it ends
    in `.sh`, by the node's Python when it ends in `.py`, else by what its `#!` line names.
    """

    name: str
    """Lower-case letters, digits and underscores; no step of llm-fleet is called so."""
    script: str
    """Path of the script below `LifecycleScripts.own_scripts`."""
    roles: Sequence[NodeType] = tuple(NodeType)
    """Roles of the nodes that take it. Default: all."""
    needs: Sequence[str] = ()
    """Steps that must be done before it, llm-fleet's or your own. One that a node does not take counts as done."""
    timeout_seconds: int = 300
    """How long one attempt, `apply` and `verify` together, may take."""
    retries: int = 0
    """How often it is attempted anew after it failed."""
