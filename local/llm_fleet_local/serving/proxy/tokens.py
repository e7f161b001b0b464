"""The check of tokens (JWT) that a load balancer does for a listener rule.

Only RS256 is accepted, `iss` and `exp` are required, `nbf` and `iat` are checked if present, and the issuer has at
most ten keys. That several values of a claim must all be in the token is the strict reading.
"""

from collections.abc import Mapping
from typing import Any

import jwt

_MOST_KEYS = 10

Keys = Mapping[str, Any]
"""A JSON Web Key Set."""


class TokenRefused(Exception):
    """The token is rejected; the message has the reason, which a real load balancer does not send."""


def check_token(authorization: str | None, settings: Mapping[str, Any], keys: Keys) -> None:
    """Check the value of an Authorization header by a rule's JwtValidationConfig. Raises `TokenRefused`.

    Source: document https://docs.aws.amazon.com/elasticloadbalancing/latest/application/listener-verify-jwt.html
    (2026-11)
    Source: assumption load-balancer-jwt-open-ends
    """
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise TokenRefused("there is no bearer token")
    if len(keys["keys"]) > _MOST_KEYS:
        raise TokenRefused(f"the issuer has {len(keys['keys'])} keys; a load balancer takes {_MOST_KEYS}")
    try:
        claims = _claims(token, settings, keys)
    except jwt.PyJWTError as error:
        raise TokenRefused(str(error)) from error
    for claim in settings.get("AdditionalClaims", []):
        _check_claim(claims, claim)


def _claims(token: str, settings: Mapping[str, Any], keys: Keys) -> dict[str, Any]:
    """Return the claims of a token that its issuer signed.

    Source: document https://docs.aws.amazon.com/elasticloadbalancing/latest/application/listener-verify-jwt.html
    (2026-11)
    """
    wanted = jwt.get_unverified_header(token).get("kid")
    found = [key for key in jwt.PyJWKSet.from_dict(dict(keys)).keys if key.key_id == wanted]
    if not found:
        raise TokenRefused(f"the issuer has no key {wanted!r}")
    return jwt.decode(
        token,
        found[0],
        algorithms=["RS256"],
        issuer=settings["Issuer"],
        options={"require": ["exp", "iss"], "verify_aud": False, "verify_iss": True},
    )


def _check_claim(claims: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse a token whose claim lacks one of the values that a rule names.

    Source: model botocore elbv2 JwtValidationActionAdditionalClaim
    Source: assumption load-balancer-jwt-open-ends
    """
    value: Any = claims.get(wanted["Name"])
    form = wanted["Format"]
    if form == "space-separated-values":
        there = str(value or "").split()
    elif form == "string-array":
        there = [str(item) for item in value] if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    else:
        there = [value] if isinstance(value, str) else []
    missing = [item for item in wanted["Values"] if item not in there]
    if missing:
        raise TokenRefused(f"claim {wanted['Name']} lacks {', '.join(missing)}")
