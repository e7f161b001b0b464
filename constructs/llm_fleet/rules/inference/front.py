"""What stands between clients and model servers: encryption, who may reach it, who may ask.

Tokens have their rules in `jwt`.
"""

import re
from collections.abc import Sequence
from ipaddress import IPv4Network

from llm_fleet.catalog.service import front_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.forms import check_attributes, check_form, passing_over, wrong_names
from llm_fleet.rules.inference.jwt import check_jwt
from llm_fleet.rules.inference.part_forms import FRONT, RANGE
from llm_fleet.rules.inference.protocols import FrontLike
from llm_fleet.rules.inference.terms import Authentication
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_list_token, is_unresolved

EVERYBODY = "0.0.0.0/0"
"""Every IPv4 address."""
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})+", re.IGNORECASE)


def check_front(front: FrontLike, *, region: str | None = None) -> list[Problem]:
    """Return all that is wrong with a front; `region`: where it stands, `None` or a token when nobody told."""
    home = None if region is None or is_unresolved(region) else region
    facts = front_facts()
    of_forms = check_attributes(front, FRONT)
    wrong = wrong_names(of_forms)
    front = passing_over(front, wrong)
    # Whether a token or a key is asked for, and whose, are not to be told of what was not understood.
    asked = [] if wrong & {"authentication", "jwt"} else check_jwt(front)
    return [
        *of_forms,
        *_check_protocol(front),
        *_check_certificate(front.certificate_arn, home),
        *_check_clients(front),
        *asked,
        *([] if "authentication" in wrong else _check_api_key(front, home)),
        *check_number(
            front.longest_answer_seconds,
            facts.longest_answer_seconds,
            Code.FRONT_LONGEST_ANSWER,
            "longest_answer_seconds",
            what="the time for one answer, in seconds,",
        ),
        *check_number(
            front.requests_per_five_minutes,
            facts.requests_per_five_minutes,
            Code.FRONT_RATE,
            "requests_per_five_minutes",
            what="the number of requests in five minutes",
        ),
        *_check_domain_name(front.domain_name),
    ]


def _check_protocol(front: FrontLike) -> list[Problem]:
    if front.certificate_arn is not None and front.plain_http is True:
        return [
            Problem(
                code=Code.FRONT_PLAIN_HTTP,
                path=("plain_http",),
                value=True,
                message="there is a certificate, and with it the front speaks HTTPS: port 80 only sends clients to 443",
                remedy="remove plain_http, or the certificate",
            )
        ]
    if front.certificate_arn is None and not front.plain_http:
        return [
            Problem(
                code=Code.FRONT_PLAIN_HTTP,
                path=("certificate_arn",),
                message="without a certificate the front speaks plain HTTP: keys, prompts and answers can be read on "
                "their way",
                allowed="the ARN of a certificate in ACM, or plain_http=True",
                remedy="name a certificate of the front's region, or, where plain HTTP will do, ask for it by "
                "plain_http=True",
            )
        ]
    return []


def _check_certificate(arn: str | None, region: str | None) -> list[Problem]:
    if arn is None or is_unresolved(arn):
        return []
    found = re.fullmatch(front_facts().certificate_arn, arn)
    if found is None:
        return [
            Problem(
                code=Code.FRONT_CERTIFICATE,
                path=("certificate_arn",),
                value=arn,
                message="this is no ARN of a certificate",
                allowed="arn:<partition>:acm:<region>:<account>:certificate/<id>, or a server certificate of IAM",
                remedy="write the whole ARN, as `aws acm list-certificates` shows it",
            )
        ]
    if region is None or found["region"] in (None, region):
        return []
    return [
        Problem(
            code=Code.FRONT_CERTIFICATE_REGION,
            path=("certificate_arn",),
            value=arn,
            message=f"this certificate is in {found['region']}, and a load balancer in {region} takes none from there",
            allowed=f"a certificate in {region}",
            remedy=f"request the certificate in {region}: `aws acm request-certificate --region {region} …`; one for "
            "CloudFront, in us-east-1, does not serve here",
        )
    ]


def _check_clients(front: FrontLike) -> list[Problem]:
    cidrs = front.allowed_cidrs
    if isinstance(cidrs, str):
        return []  # It was no list, and that is told.
    if is_list_token(cidrs):
        return [_unknown_ranges()]
    problems = [problem for index, cidr in enumerate(cidrs) for problem in _check_cidr(index, cidr, cidrs[:index])]
    if front.public is True and not cidrs:
        problems.append(
            Problem(
                code=Code.FRONT_PUBLIC_CIDRS,
                path=("allowed_cidrs",),
                message="the front is public, and nobody told who may reach it",
                allowed="one range of IPv4 addresses or more",
                remedy=f"list the ranges of your clients; {EVERYBODY} is everybody on the internet",
            )
        )
    if EVERYBODY in cidrs and front.public is True and front.authentication is Authentication.NONE:
        problems.append(
            Problem(
                code=Code.FRONT_EVERYBODY,
                path=("authentication",),
                value=front.authentication.value,
                message="everybody on the internet could use the model, at your expense: the front is public, open to "
                f"{EVERYBODY} and asks for no credentials",
                allowed=f"{Authentication.API_KEY.value}, {Authentication.JWT.value}, or narrower ranges",
                remedy=f"ask for credentials, or replace {EVERYBODY} by the ranges of your clients",
            )
        )
    return problems


def _unknown_ranges() -> Problem:
    return Problem(
        code=Code.FRONT_CIDR,
        path=("allowed_cidrs",),
        message="how many ranges there are is not known at synth, and each is a rule of its own in the template",
        allowed="a list whose length is known; a range in it may be a token",
        remedy="write the ranges, or pick each from the list by cdk.Fn.select(0, …)",
    )


def _check_cidr(index: int, cidr: str, before: Sequence[str]) -> list[Problem]:
    path = ("allowed_cidrs", index)
    of_form = check_form(cidr, RANGE, *path)
    if of_form or is_unresolved(cidr):
        return of_form
    if cidr in before:
        return [
            Problem(
                code=Code.FRONT_CIDR,
                path=path,
                value=cidr,
                message=f"{cidr} is named twice, which a security group refuses",
                remedy="leave one of them out",
            )
        ]
    try:
        block = IPv4Network(cidr, strict=False) if "/" in cidr else None
    except ValueError:
        block = None
    if block is not None and str(block) == cidr:
        return []
    return [
        Problem(
            code=Code.FRONT_CIDR,
            path=path,
            value=cidr,
            message="this is no range of IPv4 addresses"
            if block is None
            else "this range does not begin where it says",
            allowed="the first address of a range and its prefix length, e.g. 203.0.113.0/24",
            remedy=f"write {str(block)!r}" if block else "write the range; a single address is <address>/32",
        )
    ]


def _check_api_key(front: FrontLike, region: str | None) -> list[Problem]:
    arn = front.api_key_secret_arn
    if arn is None:
        return []
    if front.authentication is not Authentication.API_KEY:
        return [
            Problem(
                code=Code.FRONT_API_KEY,
                path=("api_key_secret_arn",),
                value=None if is_unresolved(arn) else arn,
                message=f"a secret with a key is named, and nothing asks for a key: authentication is "
                f"{front.authentication.value}",
                remedy=f"remove it, or write authentication: {Authentication.API_KEY.value}",
            )
        ]
    if is_unresolved(arn):
        return []
    found = re.fullmatch(front_facts().secret_arn, arn)
    if found and region in (None, found["region"]):
        return []
    return [
        Problem(
            code=Code.FRONT_API_KEY,
            path=("api_key_secret_arn",),
            value=arn,
            message=f"this secret is in {found['region']}, and ECS reads secrets of its own region"
            if found
            else "this is no ARN of a Secrets Manager secret",
            allowed=f"arn:<partition>:secretsmanager:{region or '<region>'}:<account>:secret:<name>-<6 characters>",
            remedy=f"replicate the secret to {region}" if found else "write the whole ARN, with the six characters",
        )
    ]


def _check_domain_name(name: str | None) -> list[Problem]:
    if name is None or is_unresolved(name) or _DOMAIN.fullmatch(name):
        return []
    bare = re.sub(r"^[a-z]+://", "", name).partition("/")[0].rstrip(".")
    return [
        Problem(
            code=Code.FRONT_DOMAIN_NAME,
            path=("domain_name",),
            value=name,
            message="this is no domain name",
            allowed="a name as it stands in the certificate, e.g. chat.example.com, without https:// and path",
            remedy=f"write {bare!r}" if _DOMAIN.fullmatch(bare) else "write the name that clients use",
        )
    ]
