"""Asks Service Quotas for what a fleet takes."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from llm_fleet.catalog.aws_api import ServiceQuota
from llm_fleet.cli.aws.refusals import AwsRefusal
from llm_fleet.cli.check.account import Account
from llm_fleet.cli.check.question import Answer, Ask, Question
from llm_fleet.cli.check.quota_needs import quota_needs
from llm_fleet.cli.check.topic import Topic
from llm_fleet.cli.check.usage import in_use
from llm_fleet.config.fleet import Fleet
from llm_fleet.rules.account.quota import QuotaGranted, QuotaNeed, check_quota

_OPEN = ("PENDING", "CASE_OPENED")


def questions(fleet: Fleet, *, region: str) -> Iterator[Question]:
    """Ask for each quota that the fleet can run into."""
    for need in quota_needs(fleet):
        yield Question(topic=Topic.QUOTAS, what=f"quota {need.quota.name}", answer=_asking(fleet, need, region))


def _asking(fleet: Fleet, need: QuotaNeed, region: str) -> Ask:
    def answer(account: Account) -> Answer:
        told = _told(account, need.quota)
        if told is None:
            return Answer(detail="AWS has no such quota here", problems=check_quota(need, None, region=region))
        alone = QuotaGranted(code=told["QuotaCode"], value=told["Value"], adjustable=told.get("Adjustable", True))
        granted = replace(alone, in_use=_used(account, fleet, need, alone, told, region)) if need.adds_up else alone
        problems = check_quota(need, granted, region=region)
        if problems and granted.adjustable:
            granted = replace(granted, asked_for=_asked_for(account, need.quota, granted.code))
            problems = check_quota(need, granted, region=region)
        return Answer(detail=_detail(need, granted), problems=problems)

    return answer


def _used(
    account: Account, fleet: Fleet, need: QuotaNeed, alone: QuotaGranted, told: dict[str, Any], region: str
) -> float | None:
    """Return what others use. Who may not ask is told so only where the quota would be enough without them."""
    try:
        return in_use(account, fleet, need.quota, told)
    except AwsRefusal:
        if check_quota(need, alone, region=region):
            return None
        raise


def _told(account: Account, quota: ServiceQuota) -> dict[str, Any] | None:
    """Return what is granted; what was never changed is in the list of defaults only."""
    for operation in ("list_service_quotas", "list_aws_default_service_quotas"):
        for told in account.ask("service-quotas", operation, ServiceCode=quota.service)["Quotas"]:
            if told["QuotaCode"] == quota.code or told["QuotaName"] == quota.name:
                return told
    return None


def _asked_for(account: Account, quota: ServiceQuota, code: str) -> float | None:
    """Return what was asked for and is not answered; who may not see that is not told of it."""
    try:
        history = account.ask(
            "service-quotas", "list_requested_service_quota_change_history", ServiceCode=quota.service
        )
    except AwsRefusal:
        return None
    asked = [
        one["DesiredValue"] for one in history["RequestedQuotas"] if one["QuotaCode"] == code and one["Status"] in _OPEN
    ]
    return max(asked, default=None)


def _detail(need: QuotaNeed, granted: QuotaGranted) -> str:
    if not need.adds_up:
        return f"takes {need.amount:g} of {granted.value:g}"
    used = "; AWS does not tell what is in use" if granted.in_use is None else f"; {granted.in_use:g} in use"
    return f"takes {need.amount:g} of {granted.value:g}{used}"
