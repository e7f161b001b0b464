"""Whether a quota of the account has room for what a fleet takes."""

from dataclasses import dataclass

from llm_fleet.catalog.aws_api import ServiceQuota
from llm_fleet.rules.account.instance_capacity import request_command
from llm_fleet.rules.command_codes import CheckCode
from llm_fleet.rules.problem import PathPart, Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaNeed:
    """What a fleet takes of one quota."""

    quota: ServiceQuota
    amount: float
    """In the quota's own unit: instances, vCPUs, GiB …"""
    owners: tuple[str, ...]
    """Who takes it, in words."""
    path: tuple[PathPart, ...] = ()
    """Where in the fleet file the first of them is asked for."""
    adds_up: bool = True
    """Whether what is in use already counts too; not where the quota is for one thing, e.g. the size of a cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaGranted:
    """What Service Quotas says of one quota."""

    code: str
    value: float
    in_use: float | None = None
    """What others than the fleet use of it; `None` where AWS does not tell."""
    adjustable: bool = True
    asked_for: float | None = None
    """What somebody has asked for already, and AWS has not answered."""


def check_quota(need: QuotaNeed, granted: QuotaGranted | None, *, region: str) -> list[Problem]:
    """Return a problem when the quota is too small; `None` for `granted` says that AWS has no such quota."""
    if granted is None:
        return [_unknown(need, region)]
    used = (granted.in_use or 0) if need.adds_up else 0
    if need.amount + used <= granted.value:
        return []
    in_use = f" beside {_number(used)} in use" if used else ""
    return [
        Problem(
            code=CheckCode.QUOTA,
            path=need.path,
            message=f"{', '.join(need.owners)} {'take' if len(need.owners) > 1 else 'takes'} {_number(need.amount)}"
            f"{in_use} of the quota {need.quota.name!r} ({granted.code}), and the account has {_number(granted.value)}",
            value=_number(granted.value),
            allowed=f"{_number(need.amount + used)} or more, once AWS has granted them",
            remedy=_remedy(need, granted, need.amount + used, region),
        )
    ]


def _remedy(need: QuotaNeed, granted: QuotaGranted, wanted: float, region: str) -> str:
    if not granted.adjustable:
        return "AWS does not raise this quota: make the fleet smaller, or use another account or region"
    if granted.asked_for is not None and granted.asked_for >= wanted:
        return f"{_number(granted.asked_for)} have been asked for already: wait for AWS to answer"
    return f"ask for more with `{request_command(need.quota.service, granted.code, wanted, region)}`"


def _unknown(need: QuotaNeed, region: str) -> Problem:
    quota = need.quota
    return Problem(
        code=CheckCode.QUOTA_UNKNOWN,
        path=need.path,
        message=f"{', '.join(need.owners)} {'need' if len(need.owners) > 1 else 'needs'} the quota {quota.name!r}, "
        f"and Service Quotas has none of that name in {region}",
        value=quota.name,
        remedy="see whether the type is offered there with `aws service-quotas list-aws-default-service-quotas "
        f"--service-code {quota.service} --region {region}`; if it is not, take another type or region",
    )


def _number(value: float) -> str:
    return f"{value:g}" if value < 1_000_000 else f"{value:.0f}"
