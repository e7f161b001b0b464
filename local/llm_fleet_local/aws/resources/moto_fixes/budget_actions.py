"""Budget actions, which moto lacks: stored, and rejected if the budget, the role or the policy does not exist.

There are no costs here, so no action is ever executed.
"""

import uuid
from typing import Any

from moto.budgets.models import budgets_backends
from moto.budgets.responses import BudgetsResponse
from moto.iam.models import iam_backends

from llm_fleet_local.aws.resources.moto_fixes.json_api import Rejected, install_operation

_INVALID = "InvalidParameterException"
_MISSING = "NotFoundException"
_FIXED = ("AccountId", "ActionId", "BudgetName")
_Actions = dict[tuple[str, str], dict[str, Any]]


def install() -> None:
    """Add the operations."""
    for operation, handler in (
        ("CreateBudgetAction", _create),
        ("DescribeBudgetAction", _describe),
        ("DescribeBudgetActionsForBudget", _of_budget),
        ("UpdateBudgetAction", _update),
        ("DeleteBudgetAction", _delete),
    ):
        install_operation(BudgetsResponse, "budgets", operation, handler, invalid=_INVALID)


def _create(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    account, budget = requested["AccountId"], requested["BudgetName"]
    if budget not in _backend(response, account).budgets[account]:
        # Source: model botocore budgets CreateBudgetAction (NotFoundException)
        # Source: assumption service-error-texts
        raise Rejected(_MISSING, f"The budget {budget} doesn't exist.")
    _check(response, account, requested)
    action_id = str(uuid.uuid4())
    kept = {name: value for name, value in requested.items() if name not in ("AccountId", "ResourceTags")}
    _actions(response, account)[budget, action_id] = {**kept, "ActionId": action_id, "Status": "STANDBY"}
    return {"AccountId": account, "BudgetName": budget, "ActionId": action_id}


def _describe(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    return {
        "AccountId": requested["AccountId"],
        "BudgetName": requested["BudgetName"],
        "Action": _one(response, requested),
    }


def _of_budget(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    kept = _actions(response, requested["AccountId"])
    return {"Actions": [action for (budget, _), action in kept.items() if budget == requested["BudgetName"]]}


def _update(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    old = _one(response, requested)
    changed = {name: value for name, value in requested.items() if name not in _FIXED}
    _check(response, requested["AccountId"], {**old, **changed})
    new = {**old, **changed}
    _actions(response, requested["AccountId"])[requested["BudgetName"], requested["ActionId"]] = new
    return {
        "AccountId": requested["AccountId"],
        "BudgetName": requested["BudgetName"],
        "OldAction": old,
        "NewAction": new,
    }


def _delete(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    action = _one(response, requested)
    del _actions(response, requested["AccountId"])[requested["BudgetName"], requested["ActionId"]]
    return {"AccountId": requested["AccountId"], "BudgetName": requested["BudgetName"], "Action": action}


def _check(response: Any, account: str, action: dict[str, Any]) -> None:
    """Reject a missing execution role or policy. Roles in the definition are not checked: AWS checks them on execution.

    Source: assumption budget-actions-name-what-exists
    """
    iam: Any = iam_backends[account][response.partition]
    if not any(role.arn == action["ExecutionRoleArn"] for role in iam.roles.values()):
        raise Rejected(_INVALID, f"The execution role {action['ExecutionRoleArn']} does not exist")
    definition = action["Definition"].get("IamActionDefinition")
    if definition and definition["PolicyArn"] not in iam.managed_policies:
        raise Rejected(_INVALID, f"The policy {definition['PolicyArn']} does not exist")


def _one(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    found = _actions(response, requested["AccountId"]).get((requested["BudgetName"], requested["ActionId"]))
    if found is None:
        # Source: model botocore budgets DescribeBudgetAction (NotFoundException)
        # Source: assumption service-error-texts
        raise Rejected(_MISSING, f"The action {requested['ActionId']} doesn't exist.")
    return found


def _actions(response: Any, account: str) -> _Actions:
    return _backend(response, account).__dict__.setdefault("actions", {})


def _backend(response: Any, account: str) -> Any:
    return budgets_backends[account][response.partition]
