"""For how many days CloudWatch Logs keeps a log."""

from llm_fleet.catalog.network import address_facts
from llm_fleet.rules.any_code import AnyCode
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved


def check_retention_days(days: int | None, code: AnyCode, *path: str) -> list[Problem]:
    """Check that CloudWatch Logs can keep a log for `days`; `None` passes: it stands for the default."""
    choices = address_facts().log_retention_days
    if days is None or is_unresolved(days) or days in choices:
        return []
    return [
        Problem(
            code=code,
            path=path,
            message=f"CloudWatch Logs cannot keep a log for {days} days",
            value=days,
            allowed=", ".join(map(str, choices)),
            remedy=f"write {min(choices, key=lambda choice: (abs(choice - days), choice))}",
        )
    ]
