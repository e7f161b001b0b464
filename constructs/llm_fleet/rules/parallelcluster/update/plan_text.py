"""Writes an update plan down: for people at a terminal, and as JSON."""

import json
from typing import Any

from llm_fleet.rules.parallelcluster.update.plan import PlannedChange, UpdatePlan, reasons_for_new_cluster
from llm_fleet.rules.parallelcluster.update.value_text import value_text
from llm_fleet.rules.parallelcluster.update.verdict import Verdict


def plan_text(plan: UpdatePlan) -> str:
    """Return the plan as a table, the gravest changes first, with reason and remedy below each that is not free."""
    if not plan.changes:
        return "nothing changes\n"
    width = max(len(change.verdict.value) for change in plan.changes)
    lines = [line for change in plan.changes for line in _lines(change, width)]
    numbers = ", ".join(f"{verdict.value}: {number}" for verdict, number in plan.numbers.items())
    end = "the update passes" if plan.passes else "ParallelCluster would refuse the update"
    if plan.passes and Verdict.UNKNOWN in plan.numbers:
        end += ", unless what is known at deployment only differs"
    count = len(plan.changes)
    return "\n".join([*lines, "", f"{count} change{'' if count == 1 else 's'} ({numbers}); {end}"]) + "\n"


def new_cluster_text(plan: UpdatePlan, old_name: str | None, new_name: str | None) -> str:
    """Return that a new cluster is made, and what for."""
    lines = [line for change in reasons_for_new_cluster(plan) for line in _lines(change, len(change.verdict.value))]
    end = f"{new_name} would be a new cluster beside {old_name}, which goes once the new one stands"
    return "\n".join([*lines, *([""] if lines else []), end]) + "\n"


def plan_json(plan: UpdatePlan, *, new_cluster: bool = False) -> str:
    """Return the plan as JSON: `new_cluster`, `passes`, the gravest `verdict`, and every change.

    Verdicts are by their names.
    """
    document = {
        "new_cluster": new_cluster,
        "passes": plan.passes,
        "verdict": plan.verdict.name,
        "changes": [_entry(change) for change in plan.changes],
    }
    return json.dumps(document, indent=2) + "\n"


def _entry(change: PlannedChange) -> dict[str, Any]:
    return {
        "path": change.where,
        "old": change.old,
        "new": change.new,
        "verdict": change.verdict.name,
        "reason": change.reason,
        "remedy": change.remedy,
        "policy": change.policy,
    }


def _lines(change: PlannedChange, width: int) -> list[str]:
    lines = [
        f"{change.verdict.value:{width}}  {change.where}",
        f"{'':{width}}    {value_text(change.old)} -> {value_text(change.new)}",
    ]
    if change.verdict is not Verdict.FREE:
        lines += [
            f"{'':{width}}    {text}" for text in (change.reason, change.remedy and f"remedy: {change.remedy}") if text
        ]
    return lines
