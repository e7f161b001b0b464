"""What a run's end waited for: the row of steps, each begun when the one before it ended."""

from __future__ import annotations

from collections.abc import Mapping

from llm_fleet_node.graph import Graph
from llm_fleet_node.outcome import Outcome


def slowest_path(graph: Graph, outcomes: Mapping[str, Outcome]) -> list[str]:
    """Return the names of the steps that determined when the run ended, the first one first.

    Shortening any other step would not have made the run shorter; places side by side are left out of account.
    """
    ended = {name: outcome.ended for name, outcome in outcomes.items() if outcome.ended is not None}
    path: list[str] = []
    following = ended.keys()
    while following:
        last = max(following, key=lambda name: ended[name])
        path.insert(0, last)
        following = graph.after[last] & ended.keys()
    return path
