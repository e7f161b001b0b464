"""What a monitoring watches, and what it is called."""

import re
from collections.abc import Collection, Sequence

from llm_fleet.rules.monitoring.alarm_codes import AlarmCode
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import nearest

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")


def check_monitoring_name(name: str) -> list[Problem]:
    """Return a problem for a name that alarms, a dashboard and a chat's configuration cannot all bear."""
    if is_unresolved(name) or _NAME.fullmatch(name):
        return []
    return [
        Problem(
            code=AlarmCode.MONITORING_NAME,
            path=("name",),
            value=name,
            message="alarms and a dashboard cannot bear this name",
            allowed="1 to 63 letters, digits and hyphens, no hyphen at either end",
            remedy='write e.g. name="my-fleet"',
        )
    ]


def check_watched_names(names: Sequence[str], *, known: Collection[str]) -> list[Problem]:
    """Return a problem for each of `names` that is none of the fleet's clusters `known`, or is there twice."""
    return [
        Problem(
            code=AlarmCode.MONITORING_CLUSTER,
            path=("clusters", index),
            value=name,
            message="this cluster is there twice" if name in known else "the fleet has no such cluster",
            allowed=", ".join(known) or "no cluster: the fleet has none",
            remedy=_remedy(name, known),
        )
        for index, name in enumerate(names)
        if name not in known or name in names[:index]
    ]


def check_something_watched(*, parts: int, budget: bool) -> list[Problem]:
    """Return a problem when there is nothing to watch and no budget: the stack would hold a topic alone."""
    if parts or budget:
        return []
    return [
        Problem(
            code=AlarmCode.NOTHING_WATCHED,
            message="there is nothing to watch: no cluster, no file system, no database, no budget",
            remedy="add a cluster or a budget, or leave `monitoring` out",
        )
    ]


def _remedy(name: str, known: Collection[str]) -> str:
    if name in known:
        return "write it once"
    near = nearest(name, known)
    return f"write `{near}`" if near else "leave it out, or write the key of a cluster"
