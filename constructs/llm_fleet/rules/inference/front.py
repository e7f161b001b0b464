"""What stands between clients and model servers: encryption, who may reach it, who may ask, and where it can stand.

Sources of what a load balancer checks of tokens: JwtValidationActionConfig and JwtValidationActionAdditionalClaim of
botocore's elbv2; https://docs.aws.amazon.com/elasticloadbalancing/latest/application/listener-verify-jwt.html
"""

import re
from collections.abc import Sequence
from ipaddress import IPv4Network
from urllib.parse import urlsplit

from llm_fleet.catalog.service import front_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.network import check_load_balancer_place
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.tokens import is_list_token, is_unresolved
from llm_fleet.rules.values import check_number
from llm_fleet.spec.front import Authentication, ClaimFormat, Front, Jwt, JwtClaim

EVERYBODY = "0.0.0.0/0"
"""Every IPv4 address."""
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})+", re.IGNORECASE)


def check_front(front: Front, *, region: str | None = None) -> list[Problem]:
    """Return all that is wrong with a front; `region`: where it stands, `None` or a token when nobody told."""
    home = None if region is None or is_unresolved(region) else region
    facts = front_facts()
    return [
        *_check_protocol(front),
        *_check_certificate(front.certificate_arn, home),
        *_check_clients(front),
        *check_jwt(front),
        *_check_api_key(front, home),
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


def _check_protocol(front: Front) -> list[Problem]:
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


def _check_clients(front: Front) -> list[Problem]:
    cidrs = front.allowed_cidrs
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
    if is_unresolved(cidr):
        return []
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


def _check_api_key(front: Front, region: str | None) -> list[Problem]:
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


def check_front_place(
    front: Front,
    *,
    zones: Sequence[str],
    target_zones: Sequence[str],
    vpc_cidrs: Sequence[str],
    internet: InternetAccess | None,
) -> list[Problem]:
    """Return why `front` cannot stand in a network; paths begin with `front` or `network`.

    - `zones`: where the network has subnets for it; `target_zones`: where hosts stand.
    - `vpc_cidrs`: the VPC's blocks, empty where nobody told.
    - `internet`: the network's; `None` of one that exists already.
    """
    problems = check_load_balancer_place(
        zones, target_zones=target_zones, public=front.public is True, new_network=internet is not None
    )
    if front.public is not True and not front.allowed_cidrs and not vpc_cidrs:
        problems.append(
            Problem(
                code=Code.FRONT_CLIENTS,
                path=("front", "allowed_cidrs"),
                message="a private front is open to the VPC's own addresses unless told otherwise, and nobody told "
                "which those are",
                allowed="ranges of IPv4 addresses",
                remedy="list the ranges of your clients, or tell the network its `vpc_cidrs`",
            )
        )
    return problems


def check_jwt(front: Front) -> list[Problem]:
    """Return what is wrong with the tokens that `front` asks for; paths begin with the front's attributes."""
    asked = front.authentication is Authentication.JWT
    problems: list[Problem] = []
    if asked and front.certificate_arn is None:
        problems.append(
            Problem(
                code=Code.FRONT_JWT_HTTPS,
                path=("certificate_arn",),
                message="a load balancer checks tokens on HTTPS only, and there is no certificate",
                allowed="the ARN of a certificate in ACM",
                remedy="name a certificate of the front's region, or ask for an API key",
            )
        )
    if asked and front.jwt is None:
        problems.append(
            Problem(
                code=Code.FRONT_JWT,
                path=("jwt",),
                message="tokens are asked for, and nobody told whose",
                allowed="an issuer, and where its keys are",
                remedy="name the issuer and its JWKS endpoint",
            )
        )
    if front.jwt is None:
        return problems
    if not asked:
        problems.append(
            Problem(
                code=Code.FRONT_JWT,
                path=("jwt",),
                value=front.jwt.issuer,
                message=f"an issuer of tokens is named, and nothing asks for one: authentication is "
                f"{front.authentication.value}",
                remedy=f"remove it, or write authentication: {Authentication.JWT.value}",
            )
        )
    return problems + [problem.under("jwt") for problem in check_jwt_fields(front.jwt)]


def check_jwt_fields(jwt: Jwt) -> list[Problem]:
    """Return what is wrong with an issuer by itself."""
    problems = _check_url("issuer", jwt.issuer, "the issuer")
    problems += _check_url("jwks_endpoint", jwt.jwks_endpoint, "the JWKS endpoint")
    most = front_facts().jwt_claims
    if len(jwt.claims) > most:
        problems.append(
            Problem(
                code=Code.FRONT_JWT_CLAIM,
                path=("claims",),
                value=len(jwt.claims),
                message=f"a load balancer checks up to {most} claims beside its own",
                allowed=f"0 to {most}",
                remedy="keep those that tell your clients from others: audience, scope, client",
            )
        )
    for index, claim in enumerate(jwt.claims):
        problems += [problem.under("claims", index) for problem in _check_claim(claim)]
    return problems


def _check_url(attribute: str, url: str, what: str) -> list[Problem]:
    if is_unresolved(url):
        return []
    most = front_facts().jwt_text_characters
    if _is_https(url) and len(url) <= most:
        return []
    secure = f"https://{url.partition('://')[2]}"
    return [
        Problem(
            code=Code.FRONT_JWT_URL,
            path=(attribute,),
            value=url,
            message=f"{what} is longer than {most} characters" if len(url) > most else f"{what} is no https URL",
            allowed=f"https://…, up to {most} characters",
            remedy=f"write {secure!r}, if the issuer serves that"
            if url.startswith("http://")
            else "write the whole URL",
        )
    ]


def _is_https(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:  # Brackets that hold no IPv6 address.
        return False
    return parts.scheme == "https" and bool(parts.hostname)


def _check_claim(claim: JwtClaim) -> list[Problem]:
    facts = front_facts()
    own = ", ".join(facts.jwt_own_claims)
    if claim.name in facts.jwt_own_claims or not claim.name:
        return [
            Problem(
                code=Code.FRONT_JWT_CLAIM,
                path=("name",),
                value=claim.name,
                message=f"{claim.name} is checked always" if claim.name else "a claim without a name",
                allowed=f"another claim than {own}",
                remedy="remove it" if claim.name else "write its name, e.g. aud",
            )
        ]
    if not claim.values or len(claim.values) > facts.jwt_claim_values:
        return [
            Problem(
                code=Code.FRONT_JWT_CLAIM,
                path=("values",),
                value=len(claim.values),
                message=f"claim {claim.name} has {len(claim.values)} values",
                allowed=f"1 to {facts.jwt_claim_values}",
                remedy="write what the claim must be or hold",
            )
        ]
    return [problem for index, value in enumerate(claim.values) for problem in _check_value(claim, index, value)]


def _check_value(claim: JwtClaim, index: int, value: str) -> list[Problem]:
    most = front_facts().jwt_text_characters
    blank = claim.format is ClaimFormat.SPACE_SEPARATED and " " in value
    if is_unresolved(value) or (0 < len(value) <= most and not blank):
        return []
    return [
        Problem(
            code=Code.FRONT_JWT_CLAIM,
            path=("values", index),
            value=value,
            message=f"a value of claim {claim.name} has a blank in it, and the claim is a text of words"
            if blank
            else f"a value of claim {claim.name} has {len(value)} characters",
            allowed=f"1 to {most} characters" + (" without blanks" if blank else ""),
            remedy="write each word as a value of its own" if blank else "write the value as tokens have it",
        )
    ]
