"""Whose tokens a front takes."""

from dataclasses import dataclass

from llm_fleet.inference.jwt_claim import JwtClaim
from llm_fleet.rules.inference.jwt import check_jwt_fields
from llm_fleet.rules.problem import raise_problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Jwt:
    """An issuer of JSON Web Tokens, and what its tokens must say to be let through.

    The load balancer checks signature, issuer and expiry, and `nbf` and `iat` where a token has them. It knows RS256
    alone, and key sets of up to 10 keys and 150 KB
    (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/listener-verify-jwt.html).
    Raises `FleetError` (LF748, LF749) for a URL that is not https, and for claims that it cannot check.
    """

    issuer: str
    """The `iss` claim, exactly as tokens have it: an https URL of up to 256 characters."""
    jwks_endpoint: str
    """Where the issuer's keys are: an https URL that answers on the internet."""
    claims: tuple[JwtClaim, ...] = ()
    """What else a token must say. Without any, every token of the issuer passes, whoever it was made for: name the
    audience or a scope wherever the issuer serves more than this."""

    def __post_init__(self) -> None:
        """Check it."""
        raise_problems(check_jwt_fields(self), subject="Jwt")
