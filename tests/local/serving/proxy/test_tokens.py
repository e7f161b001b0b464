"""Tokens as a load balancer checks them: accepted, and rejected for each reason."""

import time
from typing import Any

import jwt
import pytest

from llm_fleet_local.serving.local_issuer import LocalIssuer, claims_for
from llm_fleet_local.serving.proxy.tokens import TokenRefused, check_token

ISSUER = "https://issuer.example.com"
SETTINGS: dict[str, Any] = {"Issuer": ISSUER, "JwksEndpoint": f"{ISSUER}/keys"}


@pytest.fixture(scope="module")
def issuer() -> LocalIssuer:
    return LocalIssuer()


@pytest.fixture(scope="module")
def stranger() -> LocalIssuer:
    return LocalIssuer()


def refusal(token: str | None, issuer: LocalIssuer, settings: dict[str, Any] = SETTINGS) -> str:
    with pytest.raises(TokenRefused) as refused:
        check_token(token and f"Bearer {token}", settings, issuer.keys)
    return str(refused.value)


def test_a_token_of_the_issuer_passes(issuer: LocalIssuer):
    check_token(f"Bearer {issuer.token({'iss': ISSUER})}", SETTINGS, issuer.keys)


def test_an_audience_is_ignored_if_none_is_required(issuer: LocalIssuer):
    check_token(f"Bearer {issuer.token({'iss': ISSUER, 'aud': 'other'})}", SETTINGS, issuer.keys)


def test_invalid_tokens_are_rejected(issuer: LocalIssuer, stranger: LocalIssuer):
    good = {"iss": ISSUER}
    assert "no bearer token" in refusal(None, issuer)
    assert "expired" in refusal(issuer.token(good, seconds=-60), issuer)
    assert "issuer" in refusal(issuer.token({"iss": "https://other.example.com"}), issuer)
    assert '"iss"' in refusal(issuer.token({}), issuer)
    assert "Signature" in refusal(stranger.token(good), issuer)
    assert "not yet valid" in refusal(issuer.token({**good, "nbf": int(time.time()) + 60}), issuer)
    assert "not yet valid" in refusal(issuer.token({**good, "iat": int(time.time()) + 60}), issuer)


def test_only_bearer_tokens_are_read(issuer: LocalIssuer):
    for scheme in ("Basic", "Token", ""):
        with pytest.raises(TokenRefused, match="no bearer token"):
            check_token(f"{scheme} {issuer.token({'iss': ISSUER})}", SETTINGS, issuer.keys)


def test_only_rs256_is_supported(issuer: LocalIssuer):
    symmetric = jwt.encode(
        {"iss": ISSUER, "exp": int(time.time()) + 60}, "x" * 32, algorithm="HS256", headers={"kid": "local"}
    )
    assert refusal(symmetric, issuer)
    unsigned = jwt.encode({"iss": ISSUER}, None, algorithm="none", headers={"kid": "local"})  # pyright: ignore[reportArgumentType]
    assert refusal(unsigned, issuer)


def test_an_issuer_with_too_many_keys_is_rejected(issuer: LocalIssuer):
    with pytest.raises(TokenRefused, match="11 keys"):
        check_token("Bearer x", SETTINGS, {"keys": issuer.keys["keys"] * 11})


@pytest.mark.parametrize(
    ("form", "wanted", "passes", "fails"),
    [
        ("single-string", ["chat"], "chat", "chat extra"),
        ("space-separated-values", ["chat", "read"], "read write chat", "chat"),
        ("string-array", ["chat"], ["chat", "other"], ["other"]),
    ],
)
def test_claims_are_read_by_their_format(issuer: LocalIssuer, form: str, wanted: list[str], passes: Any, fails: Any):
    settings = {**SETTINGS, "AdditionalClaims": [{"Name": "scope", "Format": form, "Values": wanted}]}
    check_token(f"Bearer {issuer.token({'iss': ISSUER, 'scope': passes})}", settings, issuer.keys)
    assert "scope" in refusal(issuer.token({"iss": ISSUER, "scope": fails}), issuer, settings)
    assert "scope" in refusal(issuer.token({"iss": ISSUER}), issuer, settings)
    check_token(f"Bearer {issuer.token(claims_for(settings))}", settings, issuer.keys)
