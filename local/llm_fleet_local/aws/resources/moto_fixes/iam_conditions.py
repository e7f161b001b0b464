"""Policy conditions, whose keys have no values here: Allow applies without its condition, Deny does not apply.

moto treats a condition without values as not met, and an Allow with an unmet condition as a denial that no other
statement can override. So a role could do nothing that a condition restricts. Conditions are therefore not tested here
(README, "How real is it?"); trust policies are still checked with moto's values.

Source: emulation, no values of condition keys are available here
"""

from typing import Any

from moto.iam.access_control import IAMPolicyStatement, PermissionResult

from llm_fleet_local.aws.resources.moto_fixes.kept_members import once


def install() -> None:
    """Evaluate a statement with a condition by its other elements."""
    if not once(IAMPolicyStatement, "conditions"):
        return
    statement: Any = IAMPolicyStatement
    statement.is_action_permitted = _without_unknown(statement.is_action_permitted)


def _without_unknown(as_moto_does: Any) -> Any:
    def is_action_permitted(
        self: Any, action: str, resource: str = "*", principal: Any = None, values: Any = None
    ) -> Any:
        statement = self._statement
        if not statement.get("Condition") or values is not None:
            return as_moto_does(self, action, resource, principal, values)
        if statement.get("Effect") == "Deny":
            return PermissionResult.NEUTRAL
        rest = IAMPolicyStatement({name: value for name, value in statement.items() if name != "Condition"})
        return as_moto_does(rest, action, resource, principal, values)

    return is_action_permitted
