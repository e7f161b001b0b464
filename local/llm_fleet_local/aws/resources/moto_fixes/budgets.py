"""Budgets: updates, subscribers and unique names. moto lacks `UpdateBudget` and lists no subscribers.

Source: model botocore budgets DuplicateRecordException
"""

from typing import Any

from moto.budgets.models import budgets_backends
from moto.budgets.responses import BudgetsResponse

from llm_fleet_local.aws.resources.moto_fixes.json_api import Rejected, install_operation

_INVALID = "InvalidParameterException"


def install() -> None:
    """Add the operations."""
    install_operation(BudgetsResponse, "budgets", "UpdateBudget", _update, invalid=_INVALID)
    install_operation(BudgetsResponse, "budgets", "DescribeSubscribersForNotification", _subscribers, invalid=_INVALID)


def _update(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    budget = requested["NewBudget"]
    _found(response, requested["AccountId"], budget["BudgetName"]).budget.update(budget)
    return {}


def _subscribers(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    budget = _found(response, requested["AccountId"], requested["BudgetName"])
    for notification in budget.notifications:
        if notification.details == requested["Notification"]:
            return {"Subscribers": notification.subscribers}
    # Source: model botocore budgets DescribeSubscribersForNotification (NotFoundException)
    # Source: assumption service-error-texts
    raise Rejected("NotFoundException", "The notification does not exist")


def _found(response: Any, account: str, name: str) -> Any:
    budgets = budgets_backends[account][response.partition].budgets[account]
    if name not in budgets:
        # Source: model botocore budgets UpdateBudget (NotFoundException)
        # Source: assumption service-error-texts
        raise Rejected("NotFoundException", f"The budget {name} doesn't exist.")
    return budgets[name]
