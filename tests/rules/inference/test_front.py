"""Rules of the load balancer: encryption, clients, credentials, times."""

from typing import Any

import aws_cdk as cdk
import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.front import check_front, check_front_place, check_jwt_fields
from llm_fleet.rules.problem import AnyCode, FleetError, Problem
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.service import Authentication, ClaimFormat, Front, Jwt, JwtClaim
from llm_fleet.spec.spec import Spec

CERTIFICATE = "arn:aws:acm:us-west-2:111122223333:certificate/0f8e5c62-3a3e-4d6f-9f57-3f2c6c1f0d11"
SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:chat-key-AbCdEf"
ISSUER = Jwt(issuer="https://issuer.example.com", jwks_endpoint="https://issuer.example.com/jwks.json")
TOKENS: dict[str, Any] = {"authentication": Authentication.JWT, "jwt": ISSUER, "certificate_arn": CERTIFICATE}
NAMED: dict[str, Any] = {"certificate_arn": CERTIFICATE}
HTTP: dict[str, Any] = {"plain_http": True}


def problems(**settings: Any) -> list[Problem]:
    """Return the problems of a front with these settings."""
    return check_front(Front.model_construct(**settings))


def rejected(make: type[Spec], **settings: Any) -> list[Problem]:
    """Return the problems when a spec is created in Python."""
    with pytest.raises(FleetError) as raised:
        make(**settings)
    return list(raised.value.problems)


def found(**settings: Any) -> list[tuple[AnyCode, str]]:
    return [(problem.code, problem.where) for problem in problems(**settings)]


@pytest.mark.parametrize(
    "settings",
    [
        HTTP,
        NAMED,
        TOKENS,
        {**NAMED, "certificate_arn": "arn:aws:iam::111122223333:server-certificate/chat"},
        {**NAMED, "public": True, "allowed_cidrs": ("203.0.113.0/24", "198.51.100.7/32")},
        {**HTTP, "public": True, "allowed_cidrs": ("0.0.0.0/0",)},
        {**HTTP, "authentication": Authentication.NONE, "public": True, "allowed_cidrs": ("203.0.113.0/24",)},
        {**HTTP, "authentication": Authentication.NONE, "allowed_cidrs": ("0.0.0.0/0",)},
        {**NAMED, "api_key_secret_arn": SECRET, "longest_answer_seconds": 3600, "domain_name": "chat.example.com"},
    ],
)
def test_valid_fronts_have_no_problems(settings: dict[str, Any]) -> None:
    assert check_front(Front(**settings), region="us-west-2") == []


@pytest.mark.parametrize(
    ("settings", "code", "where"),
    [
        ({}, Code.FRONT_PLAIN_HTTP, "certificate_arn"),
        ({**NAMED, **HTTP}, Code.FRONT_PLAIN_HTTP, "plain_http"),
        ({"certificate_arn": "chat.example.com"}, Code.FRONT_CERTIFICATE, "certificate_arn"),
        ({"certificate_arn": SECRET}, Code.FRONT_CERTIFICATE, "certificate_arn"),
        ({**NAMED, "public": True}, Code.FRONT_PUBLIC_CIDRS, "allowed_cidrs"),
        ({**NAMED, "allowed_cidrs": ("10.0.0.1/16",)}, Code.FRONT_CIDR, "allowed_cidrs[0]"),
        ({**NAMED, "allowed_cidrs": ("10.0.0.0",)}, Code.FRONT_CIDR, "allowed_cidrs[0]"),
        ({**NAMED, "allowed_cidrs": ("10.0.0.0/8", "everybody")}, Code.FRONT_CIDR, "allowed_cidrs[1]"),
        ({**NAMED, "allowed_cidrs": ("2001:db8::/32",)}, Code.FRONT_CIDR, "allowed_cidrs[0]"),
        ({**NAMED, "allowed_cidrs": ("10.0.0.0/8", "10.0.0.0/8")}, Code.FRONT_CIDR, "allowed_cidrs[1]"),
        (
            {**NAMED, "authentication": Authentication.NONE, "public": True, "allowed_cidrs": ("0.0.0.0/0",)},
            Code.FRONT_EVERYBODY,
            "authentication",
        ),
        ({**TOKENS, "certificate_arn": None, **HTTP}, Code.FRONT_JWT_HTTPS, "certificate_arn"),
        ({**TOKENS, "jwt": None}, Code.FRONT_JWT, "jwt"),
        ({**NAMED, "jwt": ISSUER}, Code.FRONT_JWT, "jwt"),
        ({**NAMED, "api_key_secret_arn": "chat-key"}, Code.FRONT_API_KEY, "api_key_secret_arn"),
        ({**TOKENS, "api_key_secret_arn": SECRET}, Code.FRONT_API_KEY, "api_key_secret_arn"),
        ({**NAMED, "longest_answer_seconds": 0}, Code.FRONT_LONGEST_ANSWER, "longest_answer_seconds"),
        ({**NAMED, "longest_answer_seconds": 3601}, Code.FRONT_LONGEST_ANSWER, "longest_answer_seconds"),
        ({**NAMED, "requests_per_five_minutes": 9}, Code.FRONT_RATE, "requests_per_five_minutes"),
        ({**NAMED, "domain_name": "https://chat.example.com/v1"}, Code.FRONT_DOMAIN_NAME, "domain_name"),
        ({**NAMED, "domain_name": "localhost"}, Code.FRONT_DOMAIN_NAME, "domain_name"),
    ],
)
def test_invalid_fronts_are_reported(settings: dict[str, Any], code: Code, where: str) -> None:
    assert found(**settings) == [(code, where)]


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"certificate_arn": CERTIFICATE.replace("us-west-2", "us-east-1")}, Code.FRONT_CERTIFICATE_REGION),
        ({**NAMED, "api_key_secret_arn": SECRET.replace("us-west-2", "eu-west-1")}, Code.FRONT_API_KEY),
    ],
)
def test_certificate_and_secret_of_another_region_are_reported(settings: dict[str, Any], code: Code) -> None:
    front = Front(**settings)
    assert [problem.code for problem in check_front(front, region="us-west-2")] == [code]
    # The region is unknown: an app without an environment.
    assert check_front(front, region=cdk.Aws.REGION) == check_front(front) == []


def test_all_problems_are_reported_together() -> None:
    settings = {"public": True, "allowed_cidrs": ("10.0.0.0",), "longest_answer_seconds": 5000, "jwt": ISSUER}
    assert {code for code, _ in found(**settings)} == {
        Code.FRONT_PLAIN_HTTP,
        Code.FRONT_CIDR,
        Code.FRONT_LONGEST_ANSWER,
        Code.FRONT_JWT,
    }


def test_a_remedy_has_the_corrected_value() -> None:
    (cidr,) = problems(**NAMED, allowed_cidrs=("10.2.3.4/16",))
    assert cidr.remedy == "write `10.2.0.0/16`"
    (name,) = problems(**NAMED, domain_name="https://chat.example.com/v1")
    assert name.remedy == "write `chat.example.com`"


def test_cdk_tokens_pass() -> None:
    token = cdk.Fn.import_value("x")
    front = Front(certificate_arn=token, api_key_secret_arn=token, allowed_cidrs=(token,), domain_name=token)
    assert check_front(front, region=token) == []


@pytest.mark.parametrize(
    ("settings", "code", "where"),
    [
        ({"issuer": "http://issuer.example.com"}, Code.FRONT_JWT_URL, "issuer"),
        ({"issuer": "issuer.example.com"}, Code.FRONT_JWT_URL, "issuer"),
        ({"issuer": "https://[issuer.example.com"}, Code.FRONT_JWT_URL, "issuer"),
        ({"jwks_endpoint": "http://["}, Code.FRONT_JWT_URL, "jwks_endpoint"),
        ({"jwks_endpoint": "http://issuer.example.com/jwks"}, Code.FRONT_JWT_URL, "jwks_endpoint"),
        ({"jwks_endpoint": "https://issuer.example.com/" + "x" * 256}, Code.FRONT_JWT_URL, "jwks_endpoint"),
        ({"claims": (JwtClaim(name="iss", values=("x",)),)}, Code.FRONT_JWT_CLAIM, "claims[0].name"),
        ({"claims": (JwtClaim(name="aud", values=()),)}, Code.FRONT_JWT_CLAIM, "claims[0].values"),
        ({"claims": (JwtClaim(name="aud", values=("x" * 257,)),)}, Code.FRONT_JWT_CLAIM, "claims[0].values[0]"),
        (
            {"claims": (JwtClaim(name="scope", values=("a b",), format=ClaimFormat.SPACE_SEPARATED),)},
            Code.FRONT_JWT_CLAIM,
            "claims[0].values[0]",
        ),
        ({"claims": (JwtClaim(name="aud", values=("x",)),) * 11}, Code.FRONT_JWT_CLAIM, "claims"),
    ],
)
def test_invalid_issuers_are_reported(settings: dict[str, Any], code: Code, where: str) -> None:
    good: dict[str, Any] = {"issuer": ISSUER.issuer, "jwks_endpoint": ISSUER.jwks_endpoint}
    assert [(problem.code, problem.where) for problem in check_jwt_fields(Jwt(**{**good, **settings}))] == [
        (code, where)
    ]


ONE, TWO = ("usw2-az4",), ("usw2-az4", "usw2-az1")


@pytest.mark.parametrize(
    ("public", "zones", "targets", "cidrs", "codes"),
    [
        (False, TWO, ONE, ("10.0.0.0/16",), []),
        (True, TWO, TWO, ("10.0.0.0/16",), []),
        (False, ONE, ONE, ("10.0.0.0/16",), [Code.FRONT_ZONES]),
        (True, (), ONE, ("10.0.0.0/16",), [Code.FRONT_PUBLIC_SUBNETS]),
        (False, TWO, ("usw2-az2",), ("10.0.0.0/16",), [Code.FRONT_ZONES]),
        (False, TWO, ONE, (), [Code.FRONT_CLIENTS]),
    ],
)
def test_networks_without_enough_subnets_are_reported(
    public: bool, zones: tuple[str, ...], targets: tuple[str, ...], cidrs: tuple[str, ...], codes: list[Code]
) -> None:
    front = Front(**HTTP, public=public, allowed_cidrs=("203.0.113.0/24",) if public else ())
    for internet in (InternetAccess.NAT, None):
        reported = check_front_place(front, zones=zones, target_zones=targets, vpc_cidrs=cidrs, internet=internet)
        assert [problem.code for problem in reported] == codes


def test_the_remedy_for_one_az_is_an_az_for_load_balancers() -> None:
    front = Front(**HTTP)
    place: dict[str, Any] = {"zones": ONE, "target_zones": ONE, "vpc_cidrs": ("10.0.0.0/16",)}
    (made,) = check_front_place(front, **place, internet=InternetAccess.NAT)
    (existing,) = check_front_place(front, **place, internet=None)
    assert "load_balancer_zone_ids" in made.remedy
    assert "private_subnets" in existing.remedy


def test_the_number_of_cidrs_must_be_known_and_their_values_can_be_tokens():
    later = cdk.Fn.split(",", cdk.Fn.import_value("Ranges"))
    (problem,) = problems(allowed_cidrs=later, **NAMED)
    assert (problem.code, problem.where) == (Code.FRONT_CIDR, "allowed_cidrs")
    assert "at synth" in problem.message
    assert "cdk.Fn.select(0, …)" in problem.remedy
    assert check_front(Front(allowed_cidrs=(cdk.Fn.select(0, later),), **NAMED)) == []
