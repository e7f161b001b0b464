"""Budget actions: CloudFormation's `Type` and `Value` are `SubscriptionType` and the threshold members in the API.

Source: model CloudFormation AWS::Budgets::BudgetsAction
"""

from typing import Any

from llm_fleet_local.aws.resources.situation import Situation


def prepare(at: Situation, properties: dict[str, Any]) -> dict[str, Any]:
    """Return the properties as AWS Budgets accepts them."""
    given = dict(properties)
    if threshold := given.get("ActionThreshold"):
        given["ActionThreshold"] = {
            "ActionThresholdType": threshold["Type"],
            "ActionThresholdValue": threshold["Value"],
        }
    if "Subscribers" in given:
        given["Subscribers"] = [
            {"SubscriptionType": one["Type"], "Address": one["Address"]} for one in given["Subscribers"]
        ]
    return given
