"""What stands between clients and model servers: encryption, who may reach it, who may ask, and where it can stand.

Sources of what a load balancer checks of tokens: JwtValidationActionConfig and JwtValidationActionAdditionalClaim of
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
    """Return all that is wrong with a front; `region`: where it stands, `None` or a token when nobody told."""
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
            what="the time for one answer, in seconds,",
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
            "there is a certificate, and with it the front speaks HTTPS: port 80 only sends clients to 443",
            "remove plain_http, or the certificate",
        )
    if front.certificate_arn is None and not front.plain_http:
        yield front.wrong(
            "certificate_arn",
            Code.FRONT_PLAIN_HTTP,
            "without a certificate the front speaks plain HTTP: keys, prompts and answers can be read on their way",
            "name a certificate of the front's region, or, where plain HTTP will do, ask for it by plain_http=True",
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
            "this is no ARN of a certificate",
            "write the whole ARN, as `aws acm list-certificates` shows it",
            allowed="arn:<partition>:acm:<region>:<account>:certificate/<id>, or a server certificate of IAM",
        )
    elif region is not None and found["region"] not in (None, region):
        yield front.wrong(
            "certificate_arn",
            Code.FRONT_CERTIFICATE_REGION,
            f"this certificate is in {found['region']}, and a load balancer in {region} takes none from there",
            f"request the certificate in {region}: `aws acm request-certificate --region {region} …`; one for "
            "CloudFront, in us-east-1, does not serve here",
            allowed=f"a certificate in {region}",
        )


def _check_clients(front: Front) -> Iterator[Problem]:
    cidrs = front.allowed_cidrs
    if is_list_token(cidrs):
        yield front.wrong(
            "allowed_cidrs",
            Code.FRONT_CIDR,
            "how many ranges there are is not known at synth, and each is a rule of its own in the template",
            "write the ranges, or pick each from the list by cdk.Fn.select(0, …)",
            allowed="a list whose length is known; a range in it may be a token",
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
            "the front is public, and nobody told who may reach it",
            f"list the ranges of your clients; {EVERYBODY} is everybody on the internet",
            allowed="one range of IPv4 addresses or more",
            value=None,
        )
    if EVERYBODY in cidrs and front.public is True and front.authentication is Authentication.NONE:
        yield front.wrong(
            "authentication",
            Code.FRONT_EVERYBODY,
            "everybody on the internet could use the model, at your expense: the front is public, open to "
            f"{EVERYBODY} and asks for no credentials",
            f"ask for credentials, or replace {EVERYBODY} by the ranges of your clients",
            allowed=f"{Authentication.API_KEY.value}, {Authentication.JWT.value}, or narrower ranges",
        )


def _check_cidr(front: Front, index: int, cidr: str) -> Iterator[Problem]:
    field = ("allowed_cidrs", index)
    if cidr in front.allowed_cidrs[:index]:
        yield front.wrong(
            field,
            Code.FRONT_CIDR,
            f"{cidr} is named twice, which a security group refuses",
            "leave one of them out",
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
            "this is no range of IPv4 addresses" if block is None else "this range does not begin where it says",
            f"write {str(block)!r}" if block else "write the range; a single address is <address>/32",
            allowed="the first address of a range and its prefix length, e.g. 203.0.113.0/24",
        )


def _check_api_key(front: Front, region: str | None) -> Iterator[Problem]:
    arn = front.api_key_secret_arn
    if arn is None:
        return
    if front.authentication is not Authentication.API_KEY:
        yield front.wrong(
            "api_key_secret_arn",
            Code.FRONT_API_KEY,
            f"a secret with a key is named, and nothing asks for a key: authentication is {front.authentication.value}",
            f"remove it, or write authentication: {Authentication.API_KEY.value}",
            value=None if is_unresolved(arn) else arn,
        )
        return
    found = None if is_unresolved(arn) else re.fullmatch(front_facts().secret_arn, arn)
    if not is_unresolved(arn) and (not found or region not in (None, found["region"])):
        yield front.wrong(
            "api_key_secret_arn",
            Code.FRONT_API_KEY,
            f"this secret is in {found['region']}, and ECS reads secrets of its own region"
            if found
            else "this is no ARN of a Secrets Manager secret",
            f"replicate the secret to {region}" if found else "write the whole ARN, with the six characters",
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
            "this is no domain name",
            f"write {bare!r}" if _DOMAIN.fullmatch(bare) else "write the name that clients use",
            allowed="a name as it stands in the certificate, e.g. chat.example.com, without https:// and path",
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
    """Return why `front` cannot stand in a network; paths begin with `front` or `network`.

    - `zones`: where the network has subnets for it; `target_zones`: where hosts stand.
    - `vpc_cidrs`: the VPC's blocks, empty where nobody told.
    - `internet`: the network's; `None` of one that exists already.
    """
    yield from check_load_balancer_place(
        zones, target_zones=target_zones, public=front.public is True, new_network=internet is not None
    )
    if front.public is not True and not front.allowed_cidrs and not vpc_cidrs:
        yield Problem(
            code=Code.FRONT_CLIENTS,
            path=("front", "allowed_cidrs"),
            message="a private front is open to the VPC's own addresses unless told otherwise, and nobody told which "
            "those are",
            allowed="ranges of IPv4 addresses",
            remedy="list the ranges of your clients, or tell the network its `vpc_cidrs`",
        )


@rule
def check_jwt(front: Front) -> Iterator[Problem]:
    """Return what is wrong with the tokens that `front` asks for; paths begin with the front's attributes."""
    requested = front.authentication is Authentication.JWT
    if requested and front.certificate_arn is None:
        yield front.wrong(
            "certificate_arn",
            Code.FRONT_JWT_HTTPS,
            "a load balancer checks tokens on HTTPS only, and there is no certificate",
            "name a certificate of the front's region, or ask for an API key",
            allowed="the ARN of a certificate in ACM",
        )
    if requested and front.jwt is None:
        yield front.wrong(
            "jwt",
            Code.FRONT_JWT,
            "tokens are asked for, and nobody told whose",
            "name the issuer and its JWKS endpoint",
            allowed="an issuer, and where its keys are",
        )
    if front.jwt is not None and not requested:
        yield front.wrong(
            "jwt",
            Code.FRONT_JWT,
            f"an issuer of tokens is named, and nothing asks for one: authentication is {front.authentication.value}",
            f"remove it, or write authentication: {Authentication.JWT.value}",
            value=front.jwt.issuer,
        )
    if front.jwt is not None:
        yield from under(check_jwt_fields(front.jwt), "jwt")


@rule
def check_jwt_fields(jwt: Jwt) -> Iterator[Problem]:
    """Return what is wrong with an issuer by itself."""
    yield from _check_url(jwt, "issuer", "the issuer")
    yield from _check_url(jwt, "jwks_endpoint", "the JWKS endpoint")
    most = front_facts().jwt_claims
    if len(jwt.claims) > most:
        yield jwt.wrong(
            "claims",
            Code.FRONT_JWT_CLAIM,
            f"a load balancer checks up to {most} claims beside its own",
            "keep those that tell your clients from others: audience, scope, client",
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
            f"{what} is longer than {most} characters" if len(url) > most else f"{what} is no https URL",
            f"write {secure!r}, if the issuer serves that" if url.startswith("http://") else "write the whole URL",
            allowed=f"https://…, up to {most} characters",
        )


def _is_https(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:  # Brackets that hold no IPv6 address.
        return False
    return parts.scheme == "https" and bool(parts.hostname)


def _check_claim(claim: JwtClaim) -> Iterator[Problem]:
    facts = front_facts()
    own = ", ".join(facts.jwt_own_claims)
    if claim.name in facts.jwt_own_claims or not claim.name:
        yield claim.wrong(
            "name",
            Code.FRONT_JWT_CLAIM,
            f"{claim.name} is checked always" if claim.name else "a claim without a name",
            "remove it" if claim.name else "write its name, e.g. aud",
            allowed=f"another claim than {own}",
        )
    elif not claim.values or len(claim.values) > facts.jwt_claim_values:
        yield claim.wrong(
            "values",
            Code.FRONT_JWT_CLAIM,
            f"claim {claim.name} has {len(claim.values)} values",
            "write what the claim must be or hold",
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
                f"a value of claim {claim.name} has a blank in it, and the claim is a text of words"
                if blank
                else f"a value of claim {claim.name} has {len(value)} characters",
                "write each word as a value of its own" if blank else "write the value as tokens have it",
                allowed=f"1 to {most} characters" + (" without blanks" if blank else ""),
            )
