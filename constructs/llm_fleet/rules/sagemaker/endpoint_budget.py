"""How much an endpoint may cost in a month before somebody is told, and who."""

from collections.abc import Sequence
from typing import Protocol

from llm_fleet.catalog.endpoint_operations import budget_facts
from llm_fleet.rules.emails import check_emails
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.positive import check_positive
from llm_fleet.rules.tokens import is_list_token


class EndpointBudgetLike(Protocol):
    """How much an endpoint may cost (`EndpointBudget`)."""

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


def check_budget(budget: EndpointBudgetLike) -> list[Problem]:
    """Return what is wrong with `budget` by itself, by the attributes of `EndpointBudgetLike`."""
    return [
        *check_positive(
            budget.monthly_usd,
            SageMakerCode.BUDGET_AMOUNT,
            "monthly_usd",
            what="the budget of a month",
            remedy="write US dollars, or leave the budget out",
        ),
        *_check_thresholds(budget),
        *_check_emails(budget.emails),
    ]


def check_budget_readers(budget: EndpointBudgetLike, *, has_topic: bool) -> list[Problem]:
    """Return a problem when nobody would be told."""
    if has_topic or len(budget.emails):
        return []
    return [
        Problem(
            code=SageMakerCode.BUDGET_READERS,
            path=("emails",),
            message="nobody would be told of this budget: it has no e-mail address, and the endpoint no topic",
            remedy="write an e-mail address, or give the endpoint a topic for its alarms",
        )
    ]


def _check_thresholds(budget: EndpointBudgetLike) -> list[Problem]:
    told = budget.at_percent
    if is_list_token(told):
        return []
    wrong = [
        problem
        for index, value in enumerate(told)
        for problem in check_positive(
            value,
            SageMakerCode.BUDGET_THRESHOLD,
            what="the share of the budget at which it tells",
            remedy="write a percentage above 0; 100 is the whole budget",
        )
        for problem in [problem.under("at_percent", index)]
    ]
    return wrong or _check_number_of_thresholds(budget)


def _check_number_of_thresholds(budget: EndpointBudgetLike) -> list[Problem]:
    limit = budget_facts().notifications
    told = list(budget.at_percent)
    room = (limit.maximum or 0) - int(bool(budget.forecast))
    if len(set(told)) == len(told) and 0 < len(told) <= room:
        return []
    twice = len(set(told)) != len(told)
    return [
        Problem(
            code=SageMakerCode.BUDGET_THRESHOLD,
            path=("at_percent",),
            value=told,
            message="a share is there twice"
            if twice
            else f"a budget tells at 1 to {room} shares, and here are {len(told)}",
            allowed=f"1 to {room} different shares",
            remedy="write each share once, e.g. 80 and 100",
        )
    ]


def _check_emails(emails: Sequence[str]) -> list[Problem]:
    if is_list_token(emails):
        return []
    wrong = check_emails(emails, SageMakerCode.BUDGET_READERS, "emails")
    most = budget_facts().emails.maximum or 0
    if len(emails) <= most:
        return wrong
    return [
        *wrong,
        Problem(
            code=SageMakerCode.BUDGET_READERS,
            path=("emails",),
            value=list(emails),
            message=f"a budget has {most} e-mail addresses at most, and here are {len(emails)}",
            allowed=f"up to {most}",
            remedy="write the address of a list, or use a topic",
        ),
    ]
