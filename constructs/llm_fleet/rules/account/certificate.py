"""Whether a certificate of ACM can stand in front of a service."""

from datetime import datetime, timedelta

from llm_fleet.rules.account.instance_capacity import when
from llm_fleet.rules.command_codes import CheckCode
from llm_fleet.rules.problem import PathPart, Problem

_SOON = timedelta(days=14)
"""ACM renews 60 days before the end; with a fortnight left, it has not managed. Our choice."""


def check_certificate(
    arn: str,
    *,
    status: str | None,
    ends: datetime | None,
    names: tuple[str, ...],
    domain: str | None,
    owner: str,
    now: datetime,
    path: tuple[PathPart, ...] = (),
) -> list[Problem]:
    """Return why a load balancer cannot use the certificate; `None` for `status` says that it does not exist."""
    name = f"the certificate of {owner}"
    if status is None:
        return [_problem(arn, path, f"{name} does not exist", "request one with `aws acm request-certificate`")]
    if status != "ISSUED":
        remedy = (
            f"add the DNS records that `aws acm describe-certificate --certificate-arn {arn}` tells, and wait"
            if status == "PENDING_VALIDATION"
            else "request another with `aws acm request-certificate`"
        )
        return [_problem(arn, path, f"{name} is {status}: a load balancer does not take it", remedy)]
    found: list[Problem] = []
    if ends is not None and ends - now < _SOON:
        found.append(
            _problem(
                arn,
                path,
                f"{name} {'ended' if ends <= now else 'ends'} at {when(ends)}",
                "renew it: see that its DNS records still stand, or import the new one under the same ARN",
            )
        )
    if domain is not None and names and not any(_covers(pattern, domain) for pattern in names):
        found.append(
            _problem(
                arn,
                path,
                f"{name} is for {', '.join(names)}, and clients ask for {domain}",
                f"request one for {domain} with `aws acm request-certificate --domain-name {domain}`",
            )
        )
    return found


def _covers(pattern: str, domain: str) -> bool:
    if pattern.startswith("*."):
        return domain.partition(".")[2].lower() == pattern[2:].lower()
    return pattern.lower() == domain.lower()


def _problem(arn: str, path: tuple[PathPart, ...], message: str, remedy: str) -> Problem:
    return Problem(code=CheckCode.CERTIFICATE, path=path, message=message, remedy=remedy, value=arn)
