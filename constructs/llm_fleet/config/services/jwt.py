"""Whose tokens a load balancer takes."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.config.services.jwt_claim import JwtClaimConfig
from llm_fleet.spec.model import FleetModel


class JwtConfig(FleetModel):
    """The issuer whose tokens let clients in (`JwtLike`)."""

    other_words: ClassVar[Mapping[str, str]] = {
        "jwks_uri": "write `jwks`",
        "jwks_url": "write `jwks`",
        "audience": "write `claims: [{name: aud, values: [<audience>], format: string-array}]`",
        "aud": "write `claims: [{name: aud, values: [<audience>], format: string-array}]`",
        "scope": "write `claims: [{name: scope, values: [<scope>], format: space-separated-values}]`",
        "scopes": "write `claims: [{name: scope, values: [<scope>], format: space-separated-values}]`",
    }

    issuer: str = Field(examples=["https://idp.example.com/"])
    """The `iss` claim of its tokens, an https URL."""
    jwks_endpoint: str = Field(alias="jwks", examples=["https://idp.example.com/.well-known/jwks.json"])
    """Where its public keys are, an https URL that the load balancer reaches over the internet."""
    claims: tuple[JwtClaimConfig, ...] = ()
    """What else a token must say, e.g. for whom it is. Default: nothing; every token of the issuer lets in."""
