"""What a fleet may cost in a month, who is told, and what is taken away then."""

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from llm_fleet.catalog.monitoring import fleet_budget_facts
from llm_fleet.rules.monitoring.alarm_codes import AlarmCode
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_list_token, is_unresolved
from llm_fleet.rules.values import check_emails, check_positive

_ROLE = re.compile(r"([\x21-\x7F]+/)?[\w+=,.@-]{1,64}")
"""Of a role by its name, with its path: botocore 1.44.5, budgets Role."""


class FleetBudgetLike(Protocol):
    """What a fleet may cost (`FleetBudget`)."""

    @property
    def monthly_usd(self) -> float:
        """US dollars in a month."""
        ...

    @property
    def at_percent(self) -> Sequence[float]:
        """Shares of them at which somebody is told."""
        ...

    @property
    def forecast(self) -> bool:
        """Whether somebody is told of what is to be expected."""
        ...

    @property
    def emails(self) -> Sequence[str]:
        """Who is told by e-mail."""
        ...

    @property
    def deny_roles(self) -> Sequence[str]:
        """Roles that may start no machines any more."""
        ...


def check_fleet_budget(budget: FleetBudgetLike) -> list[Problem]:
    """Return what is wrong with `budget` by itself."""
    return [
        *check_positive(
            budget.monthly_usd,
            AlarmCode.FLEET_BUDGET_AMOUNT,
            "monthly_usd",
            what="the budget of a month",
            remedy="write US dollars, or leave the budget out",
        ),
        *_check_shares(budget),
        *check_emails(budget.emails, AlarmCode.MONITORING_EMAIL, "emails"),
        *_check_number_of_emails(budget.emails),
        *_check_roles(budget.deny_roles),
    ]


def check_budget_tag(tag: str | None, tags: Mapping[str, str]) -> list[Problem]:
    """Return a problem when the fleet does not bear the tag that its budget counts by: it would count nothing."""
    if tag is None or tag in tags:
        return []
    named = ", ".join(sorted(tags)) or "none"
    return [
        Problem(
            code=AlarmCode.FLEET_BUDGET_TAG,
            path=("tag",),
            value=tag,
            message="the fleet does not bear this tag, so the budget would count nothing",
            allowed=f"a key of `tags`; there are {named}" if tags else "a key of `tags`, of which there are none",
            remedy=f"add `{tag}: …` to `tags` of the fleet, or leave `tag` out to count the whole account",
        )
    ]


def _check_shares(budget: FleetBudgetLike) -> list[Problem]:
    told = budget.at_percent
    if is_list_token(told):
        return []
    wrong = [
        problem.under("at_percent", index)
        for index, value in enumerate(told)
        for problem in check_positive(
            value,
            AlarmCode.FLEET_BUDGET_SHARE,
            what="the share of the budget at which it tells",
            remedy="write a percentage above 0; 100 is the whole budget",
        )
    ]
    room = (fleet_budget_facts().notifications.maximum or 0) - int(bool(budget.forecast))
    twice = len(set(told)) != len(told)
    if wrong or (not twice and 0 < len(told) <= room):
        return wrong
    return [
        Problem(
            code=AlarmCode.FLEET_BUDGET_SHARE,
            path=("at_percent",),
            value=list(told),
            message="a share is there twice" if twice else f"a budget tells at 1 to {room} shares, not {len(told)}",
            allowed=f"1 to {room} different shares",
            remedy="write each share once, e.g. 50, 80 and 100",
        )
    ]


def _check_number_of_emails(emails: Sequence[str]) -> list[Problem]:
    limit = fleet_budget_facts().emails
    if is_list_token(emails) or limit.holds(len(emails)):
        return []
    return [
        Problem(
            code=AlarmCode.MONITORING_EMAIL,
            path=("emails",),
            value=list(emails),
            message=f"a budget has {limit.maximum} e-mail addresses at most, and here are {len(emails)}",
            allowed=limit.range,
            remedy="write the address of a list; the topic is told anyway",
        )
    ]


def _check_roles(roles: Sequence[str]) -> list[Problem]:
    if is_list_token(roles):
        return []
    wrong = [
        Problem(
            code=AlarmCode.FLEET_BUDGET_ROLE,
            path=("deny_roles", index),
            value=role,
            message="this is no name of a role, or is there twice",
            allowed="the name of a role, e.g. `ml-engineers`, each once",
            remedy="write the role's name; of an ARN, what stands after `:role/`",
        )
        for index, role in enumerate(roles)
        if not is_unresolved(role)
        and (type(role) is not str or ":" in role or not _ROLE.fullmatch(role) or role in roles[:index])
    ]
    most = fleet_budget_facts().roles.maximum or 0
    if wrong or len(roles) <= most:
        return wrong
    return [
        Problem(
            code=AlarmCode.FLEET_BUDGET_ROLE,
            path=("deny_roles",),
            value=list(roles),
            message=f"an action of AWS Budgets reaches {most} roles at most, and here are {len(roles)}",
            allowed=f"up to {most}",
            remedy="name the roles that start most",
        )
    ]
