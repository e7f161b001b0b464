"""Conditions of policies, whose values the emulation lacks: Allow applies without its condition, Deny does not apply.

moto takes every condition that it has no values for as not met, and a permission whose condition is not met for a
denial, which no other statement can lift. So a role could do nothing that a condition narrows. What a condition says is
therefore not proven here (README, "IAM conditions"); trust policies are still checked with moto's values.

Source: emulation, no values of conditions are known here
"""

from typing import Any

from moto.iam.access_control import IAMPolicyStatement, PermissionResult

from local.aws.resources.moto_fixes.kept_members import once


def install() -> None:
    """Check a statement with a condition by the rest of it."""
    if not once(IAMPolicyStatement, "conditions"):
        return
    statement: Any = IAMPolicyStatement
    statement.is_action_permitted = _without_unknown(statement.is_action_permitted)


def _without_unknown(as_moto_does: Any) -> Any:
    def is_action_permitted(
        self: Any, action: str, resource: str = "*", principal: Any = None, values: Any = None
    ) -> Any:
        said = self._statement
        if not said.get("Condition") or values is not None:
            return as_moto_does(self, action, resource, principal, values)
        if said.get("Effect") == "Deny":
            return PermissionResult.NEUTRAL
        rest = IAMPolicyStatement({name: value for name, value in said.items() if name != "Condition"})
        return as_moto_does(rest, action, resource, principal, values)

    return is_action_permitted
