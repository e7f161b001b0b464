"""The clusters that people reach from a notebook or from Studio."""

from collections.abc import Collection, Sequence
from typing import Any

from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.forms import Form, check_form
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem

_CLUSTER = Form(
    wanted="a cluster of llm-fleet",
    has=("grants",),
    remedy="write clusters=[cluster], a HyperPodCluster or ParallelCluster or what their from_… return",
)
_SEVERAL = Form(wanted="a list of clusters", types=(list, tuple), remedy="write clusters=[cluster]")


def check_reachable(clusters: Any) -> list[Problem]:
    """Return a problem for each of `clusters` that is none, below `clusters`."""
    problems = check_form(clusters, _SEVERAL, "clusters")
    if problems:
        return problems
    return [problem for index, one in enumerate(clusters) for problem in check_form(one, _CLUSTER, "clusters", index)]


def check_reached_names(names: Sequence[str], *, known: Collection[str]) -> list[Problem]:
    """Return a problem for each of `names` that is no key of the fleet's clusters, or that comes twice."""
    return [problem for index, name in enumerate(names) for problem in _check_name(name, index, names, known)]


def _check_name(name: str, index: int, names: Sequence[str], known: Collection[str]) -> list[Problem]:
    if name in names[:index]:
        return [
            Problem(
                code=Code.CONTRADICTION,
                message="this cluster is named already",
                remedy="remove it here",
                path=("clusters", index),
                value=name,
            )
        ]
    if name in known:
        return []
    return [
        Problem(
            code=Code.UNKNOWN_REFERENCE,
            message="the fleet has no cluster of this name",
            remedy=did_you_mean(
                name, known, otherwise="write a key of `clusters`" if known else "remove it: the fleet has no clusters"
            ),
            path=("clusters", index),
            value=name,
            allowed=", ".join(sorted(known)),
        )
    ]
