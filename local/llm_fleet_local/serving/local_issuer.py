"""A local issuer of tokens, instead of the one in a template."""

import json
import time
from collections.abc import Mapping
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from llm_fleet_local.serving.proxy.tokens import Keys
from llm_fleet_local.serving.template.front import LoadBalancer

_KEY_ID = "local"
_BITS = 2048
_HOUR = 3600


class LocalIssuer:
    """Has a key pair, and signs tokens with it."""

    def __init__(self) -> None:
        """Make the key pair."""
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=_BITS)
        public = json.loads(RSAAlgorithm.to_jwk(self._key.public_key()))
        self.keys: Keys = {"keys": [{**public, "kid": _KEY_ID, "alg": "RS256", "use": "sig"}]}
        """Its key set, as its endpoint returns it."""

    def token(self, claims: Mapping[str, Any], *, seconds: int = _HOUR) -> str:
        """Return a token with `claims`, which expires after `seconds`."""
        return jwt.encode(
            {"exp": int(time.time()) + seconds, **claims}, self._key, algorithm="RS256", headers={"kid": _KEY_ID}
        )


def token_settings(front: LoadBalancer) -> list[Mapping[str, Any]]:
    """Return every JwtValidationConfig of the load balancer's rules."""
    rules = [rule for listener in front.listeners for rule in listener.rules]
    return [action.settings for rule in rules for action in rule.actions if action.kind == "jwt-validation"]


def claims_for(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return claims that a rule's JwtValidationConfig accepts."""
    claims: dict[str, Any] = {"iss": settings["Issuer"], "sub": "local"}
    for claim in settings.get("AdditionalClaims", []):
        values = claim["Values"]
        if claim["Format"] == "string-array":
            claims[claim["Name"]] = values
        else:
            claims[claim["Name"]] = " ".join(values) if claim["Format"] == "space-separated-values" else values[0]
    return claims
