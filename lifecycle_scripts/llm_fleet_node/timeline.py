"""The critical path of a run: the chain of steps that determined its duration."""

from __future__ import annotations

from collections.abc import Mapping

from llm_fleet_node.graph import Graph
from llm_fleet_node.outcome import Outcome


def slowest_path(graph: Graph, outcomes: Mapping[str, Outcome]) -> list[str]:
    """Return the names of the steps on the critical path, in order.

    A shorter duration of another step would not shorten the run; the number of parallel steps is ignored.
    """
    ended = {name: outcome.ended for name, outcome in outcomes.items() if outcome.ended is not None}
    path: list[str] = []
    following = ended.keys()
    while following:
        last = max(following, key=lambda name: ended[name])
        path.insert(0, last)
        following = graph.after[last] & ended.keys()
    return path
