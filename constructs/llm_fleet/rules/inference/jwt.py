"""Tokens that a load balancer checks: of which issuer, and what they must say.

Sources: JwtValidationActionConfig and JwtValidationActionAdditionalClaim of botocore's elbv2;
https://docs.aws.amazon.com/elasticloadbalancing/latest/application/listener-verify-jwt.html
"""

from urllib.parse import urlsplit

from llm_fleet.catalog.service import front_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.forms import check_attributes, check_form
from llm_fleet.rules.inference.part_forms import CLAIM, CLAIM_FIELDS, CLAIM_VALUE, JWT
from llm_fleet.rules.inference.protocols import FrontLike, JwtClaimLike, JwtLike
from llm_fleet.rules.inference.terms import Authentication, ClaimFormat
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved


def check_jwt(front: FrontLike) -> list[Problem]:
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


def check_jwt_fields(jwt: JwtLike) -> list[Problem]:
    """Return what is wrong with an issuer by itself."""
    of_forms = check_attributes(jwt, JWT)
    if of_forms:
        return of_forms
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


def _check_claim(claim: JwtClaimLike) -> list[Problem]:
    of_forms = check_form(claim, CLAIM) or check_attributes(claim, CLAIM_FIELDS)
    if of_forms:
        return of_forms
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


def _check_value(claim: JwtClaimLike, index: int, value: str) -> list[Problem]:
    of_form = check_form(value, CLAIM_VALUE, "values", index)
    if of_form:
        return of_form
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
