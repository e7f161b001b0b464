"""Budgets: a missing name is generated, amounts are strings, and filters can be a JSON string.

Source: model CloudFormation AWS::Budgets::Budget
"""

import json
from typing import Any

from llm_fleet_local.aws.resources.situation import Situation, Stage


def prepare(at: Situation, properties: dict[str, Any]) -> dict[str, Any]:
    """Return the properties as AWS Budgets accepts them."""
    budget: dict[str, Any] = dict(properties.get("Budget", {}))
    if at.stage is Stage.CREATE:
        budget.setdefault("BudgetName", f"{at.request.stack_name}-{at.request.logical_id}-{at.unique}"[:100])
    elif at.ref:
        budget["BudgetName"] = at.ref
    if limit := budget.get("BudgetLimit"):
        budget["BudgetLimit"] = {**limit, "Amount": f"{float(limit['Amount']):g}"}
    for name in ("CostFilters", "PlannedBudgetLimits"):
        if isinstance(budget.get(name), str):
            budget[name] = json.loads(budget[name])
    return {**properties, "Budget": budget}
