"""The load balancer in front of model servers: encryption, allowed client addresses, authentication and subnets.

Sources of the validation of tokens: JwtValidationActionConfig and JwtValidationActionAdditionalClaim of
botocore's elbv2; https://docs.aws.amazon.com/elasticloadbalancing/latest/application/listener-verify-jwt.html
"""

import re
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Network
from urllib.parse import urlsplit

from llm_fleet.catalog.service import front_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.network import check_load_balancer_place
from llm_fleet.rules.problem import Problem, is_list_token, is_unresolved, rule, under
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.values import check_number
from llm_fleet.spec.service import Authentication, ClaimFormat, Front, Jwt, JwtClaim
from llm_fleet.spec.unknown import UNKNOWN

EVERYBODY = "0.0.0.0/0"
"""Every IPv4 address."""
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})+", re.IGNORECASE)


def check_front(front: Front, *, region: str | None = None) -> list[Problem]:
    """Return all that is wrong with a front; `region`: its region, `None` or a token when unknown."""
    home = None if region is None or is_unresolved(region) else region
    facts = front_facts()
    return [
        *_check_protocol(front),
        *_check_certificate(front, home),
        *_check_clients(front),
        *check_jwt(front),
        *_check_api_key(front, home),
        *check_number(
            front.longest_answer_seconds,
            facts.longest_answer_seconds,
            Code.FRONT_LONGEST_ANSWER,
            "longest_answer_seconds",
            what="`longest_answer`",
        ),
        *check_number(
            front.requests_per_five_minutes,
            facts.requests_per_five_minutes,
            Code.FRONT_RATE,
            "requests_per_five_minutes",
            what="the number of requests in five minutes",
        ),
        *_check_domain_name(front),
    ]


def _check_protocol(front: Front) -> Iterator[Problem]:
    if front.certificate_arn not in (None, UNKNOWN) and front.plain_http is True:
        yield front.wrong(
            "plain_http",
            Code.FRONT_PLAIN_HTTP,
            "set only one of a certificate and `plain_http`: with a certificate, port 80 redirects clients to HTTPS",
            "remove plain_http or the certificate",
        )
    if front.certificate_arn is None and not front.plain_http:
        yield front.wrong(
            "certificate_arn",
            Code.FRONT_PLAIN_HTTP,
            "without a certificate the load balancer uses plain HTTP: keys, prompts and answers are not encrypted",
            "set a certificate in the region of the service, or write plain_http=True to use plain HTTP",
            allowed="the ARN of a certificate in ACM, or plain_http=True",
        )


def _check_certificate(front: Front, region: str | None) -> Iterator[Problem]:
    arn = front.certificate_arn
    if arn is None or is_unresolved(arn):
        return
    found = re.fullmatch(front_facts().certificate_arn, arn)
    if found is None:
        yield front.wrong(
            "certificate_arn",
            Code.FRONT_CERTIFICATE,
            "this is not the ARN of a certificate",
            "write the complete ARN, as `aws acm list-certificates` shows it",
            allowed="arn:<partition>:acm:<region>:<account>:certificate/<id>, or the ARN of an IAM server certificate",
        )
    elif region is not None and found["region"] not in (None, region):
        yield front.wrong(
            "certificate_arn",
            Code.FRONT_CERTIFICATE_REGION,
            f"this certificate is in {found['region']}, and a load balancer needs one in its own region, {region}",
            f"request a certificate in {region}: `aws acm request-certificate --region {region} …`; certificates in "
            "us-east-1 are only for CloudFront",
            allowed=f"a certificate in {region}",
        )


def _check_clients(front: Front) -> Iterator[Problem]:
    cidrs = front.allowed_cidrs
    if is_list_token(cidrs):
        yield front.wrong(
            "allowed_cidrs",
            Code.FRONT_CIDR,
            "the list is a CDK token, and its length must be known at synth: each range becomes a rule",
            "write the ranges, or select each from the list with cdk.Fn.select(0, …)",
            allowed="a list of known length, whose items may be CDK tokens",
            value=None,
        )
        return
    for index, cidr in enumerate(cidrs):
        if not is_unresolved(cidr):
            yield from _check_cidr(front, index, cidr)
    if front.public is True and not cidrs:
        yield front.wrong(
            "allowed_cidrs",
            Code.FRONT_PUBLIC_CIDRS,
            "the allowed client addresses are required for a public load balancer",
            f"write the CIDR ranges of your clients; {EVERYBODY} allows the whole internet",
            allowed="at least one range of IPv4 addresses",
            value=None,
        )
    if EVERYBODY in cidrs and front.public is True and front.authentication is Authentication.NONE:
        yield front.wrong(
            "authentication",
            Code.FRONT_EVERYBODY,
            f"the load balancer is public, allows {EVERYBODY} and requires no credentials: anyone on the internet "
            "could use the model at your expense",
            f"set `authentication`, or replace {EVERYBODY} with the CIDR ranges of your clients",
            allowed=f"{Authentication.API_KEY.value}, {Authentication.JWT.value}, or narrower ranges",
        )


def _check_cidr(front: Front, index: int, cidr: str) -> Iterator[Problem]:
    field = ("allowed_cidrs", index)
    if cidr in front.allowed_cidrs[:index]:
        yield front.wrong(
            field,
            Code.FRONT_CIDR,
            f"{cidr} is listed twice, which EC2 rejects in a security group",
            "remove one of them",
        )
        return
    try:
        block = IPv4Network(cidr, strict=False) if "/" in cidr else None
    except ValueError:
        block = None
    if block is None or str(block) != cidr:
        yield front.wrong(
            field,
            Code.FRONT_CIDR,
            "this is not a CIDR range of IPv4 addresses"
            if block is None
            else "the address has bits set outside its prefix length",
            f"write `{block}`" if block else "write a CIDR range; a single address is <address>/32",
            allowed="the first address of the range and its prefix length, e.g. 203.0.113.0/24",
        )


def _check_api_key(front: Front, region: str | None) -> Iterator[Problem]:
    arn = front.api_key_secret_arn
    if arn is None:
        return
    if front.authentication is not Authentication.API_KEY:
        yield front.wrong(
            "api_key_secret_arn",
            Code.FRONT_API_KEY,
            f"the secret with the API key has no effect: `authentication` is {front.authentication.value}",
            f"remove it, or write authentication: {Authentication.API_KEY.value}",
            value=None if is_unresolved(arn) else arn,
        )
        return
    found = None if is_unresolved(arn) else re.fullmatch(front_facts().secret_arn, arn)
    if not is_unresolved(arn) and (not found or region not in (None, found["region"])):
        yield front.wrong(
            "api_key_secret_arn",
            Code.FRONT_API_KEY,
            f"this secret is in {found['region']}, and ECS reads only secrets in its own region"
            if found
            else "this is not the ARN of a Secrets Manager secret",
            f"replicate the secret to {region}"
            if found
            else "write the complete ARN, with the six characters at its end",
            allowed=f"arn:<partition>:secretsmanager:{region or '<region>'}:<account>:secret:<name>-<6 characters>",
            value=arn,
        )


def _check_domain_name(front: Front) -> Iterator[Problem]:
    name = front.domain_name
    if name is not None and not is_unresolved(name) and not _DOMAIN.fullmatch(name):
        bare = re.sub(r"^[a-z]+://", "", name).partition("/")[0].rstrip(".")
        yield front.wrong(
            "domain_name",
            Code.FRONT_DOMAIN_NAME,
            "this is not a domain name",
            f"write `{bare}`" if _DOMAIN.fullmatch(bare) else "write the domain name that clients use",
            allowed="a domain name of the certificate, e.g. chat.example.com, without https:// and path",
        )


@rule
def check_front_place(
    front: Front,
    *,
    zones: Sequence[str],
    target_zones: Sequence[str],
    vpc_cidrs: Sequence[str],
    internet: InternetAccess | None,
) -> Iterator[Problem]:
    """Return why `front` cannot be created in a network; paths begin with `front` or `network`.

    - `zones`: AZs in which the network has subnets for it; `target_zones`: AZs of the hosts.
    - `vpc_cidrs`: the VPC's CIDR blocks, empty when unknown.
    - `internet`: the network's internet access; `None` for an existing network.
    """
    yield from check_load_balancer_place(
        zones, target_zones=target_zones, public=front.public is True, new_network=internet is not None
    )
    if front.public is not True and not front.allowed_cidrs and not vpc_cidrs:
        yield Problem(
            code=Code.FRONT_CLIENTS,
            path=("front", "allowed_cidrs"),
            message="the allowed client addresses are required: the default of a private load balancer is the VPC's "
            "CIDR blocks, which are unknown",
            allowed="ranges of IPv4 addresses",
            remedy="write the CIDR ranges of your clients, or set `vpc_cidrs` of the network",
        )


@rule
def check_jwt(front: Front) -> Iterator[Problem]:
    """Return what is wrong with the JWT settings of `front`; paths begin with the front's attributes."""
    with_jwt = front.authentication is Authentication.JWT
    if with_jwt and front.certificate_arn is None:
        yield front.wrong(
            "certificate_arn",
            Code.FRONT_JWT_HTTPS,
            "JWT authentication requires a certificate: a load balancer validates tokens only with HTTPS",
            "set a certificate in the region of the service, or use an API key",
            allowed="the ARN of a certificate in ACM",
        )
    if with_jwt and front.jwt is None:
        yield front.wrong(
            "jwt",
            Code.FRONT_JWT,
            "`jwt` is required with JWT authentication",
            "set the issuer of the tokens and its JWKS endpoint",
            allowed="an issuer and its JWKS endpoint",
        )
    if front.jwt is not None and not with_jwt:
        yield front.wrong(
            "jwt",
            Code.FRONT_JWT,
            f"`jwt` has no effect: `authentication` is {front.authentication.value}",
            f"remove it, or write authentication: {Authentication.JWT.value}",
            value=front.jwt.issuer,
        )
    if front.jwt is not None:
        yield from under(check_jwt_fields(front.jwt), "jwt")


@rule
def check_jwt_fields(jwt: Jwt) -> Iterator[Problem]:
    """Return what is wrong with URLs and claims of `jwt`."""
    yield from _check_url(jwt, "issuer", "the issuer")
    yield from _check_url(jwt, "jwks_endpoint", "the JWKS endpoint")
    most = front_facts().jwt_claims
    if len(jwt.claims) > most:
        yield jwt.wrong(
            "claims",
            Code.FRONT_JWT_CLAIM,
            f"a load balancer validates at most {most} additional claims",
            "keep those that identify your clients: audience, scope, client",
            allowed=f"0 to {most}",
            value=len(jwt.claims),
        )
    for index, claim in enumerate(jwt.claims):
        yield from under(_check_claim(claim), "claims", index)


def _check_url(jwt: Jwt, attribute: str, what: str) -> Iterator[Problem]:
    url, most = getattr(jwt, attribute), front_facts().jwt_text_characters
    if not is_unresolved(url) and not (_is_https(url) and len(url) <= most):
        secure = f"https://{url.partition('://')[2]}"
        yield jwt.wrong(
            attribute,
            Code.FRONT_JWT_URL,
            f"{what} is longer than {most} characters" if len(url) > most else f"{what} must be an https:// URL",
            f"write `{secure}`, if the issuer supports it" if url.startswith("http://") else "write the complete URL",
            allowed=f"https://…, up to {most} characters",
        )


def _is_https(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:  # Brackets without an IPv6 address.
        return False
    return parts.scheme == "https" and bool(parts.hostname)


def _check_claim(claim: JwtClaim) -> Iterator[Problem]:
    facts = front_facts()
    own = ", ".join(facts.jwt_own_claims)
    if claim.name in facts.jwt_own_claims or not claim.name:
        yield claim.wrong(
            "name",
            Code.FRONT_JWT_CLAIM,
            f"the load balancer always validates {claim.name}" if claim.name else "the name of the claim is empty",
            "remove it" if claim.name else "write its name, e.g. aud",
            allowed=f"a claim other than {own}",
        )
    elif not claim.values or len(claim.values) > facts.jwt_claim_values:
        yield claim.wrong(
            "values",
            Code.FRONT_JWT_CLAIM,
            f"claim {claim.name} must have 1 to {facts.jwt_claim_values} values, and has {len(claim.values)}",
            "write the values that the claim must have or contain",
            allowed=f"1 to {facts.jwt_claim_values}",
            value=len(claim.values),
        )
    else:
        yield from _check_values(claim, facts.jwt_text_characters)


def _check_values(claim: JwtClaim, most: int) -> Iterator[Problem]:
    for index, value in enumerate(claim.values):
        blank = claim.format is ClaimFormat.SPACE_SEPARATED and " " in value
        if not is_unresolved(value) and (blank or not 0 < len(value) <= most):
            yield claim.wrong(
                ("values", index),
                Code.FRONT_JWT_CLAIM,
                f"a value of claim {claim.name} contains a space, and the claim is a space-separated list"
                if blank
                else f"a value of claim {claim.name} has {len(value)} characters",
                "write each word as a separate value" if blank else "write the value as it is in the tokens",
                allowed=f"1 to {most} characters" + (" without spaces" if blank else ""),
            )
