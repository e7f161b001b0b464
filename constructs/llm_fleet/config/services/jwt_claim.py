"""Something that a token must say."""

from pydantic import Field

from llm_fleet.rules.inference.terms import ClaimFormat
from llm_fleet.spec.model import FleetModel


class JwtClaimConfig(FleetModel):
    """A claim that a token must have (`JwtClaimLike`)."""

    name: str = Field(examples=["aud"])
    """The claim, e.g. `aud` or `scope`."""
    values: tuple[str, ...] = Field(examples=[["chat"], "[chat]"])
    """What it must be or hold."""
    format: ClaimFormat = ClaimFormat.SINGLE_STRING
    """How the token writes it. Default: `single-string`."""
