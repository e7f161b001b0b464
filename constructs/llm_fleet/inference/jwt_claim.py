"""Something that a token must say."""

from dataclasses import dataclass

from llm_fleet.rules.inference.forms import member_of
from llm_fleet.rules.inference.terms import ClaimFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class JwtClaim:
    """A claim and the values that a token must have in it; `Jwt` checks it."""

    name: str
    """E.g. `aud`, `scope` or `client_id`; never one of those that are always checked (`exp`, `iss`, `nbf`, `iat`)."""
    values: tuple[str, ...]
    """One to ten, of up to 256 characters each."""
    format: ClaimFormat = ClaimFormat.SINGLE_STRING
    """How tokens write it: one text unless told otherwise."""

    def __post_init__(self) -> None:
        """Take the word of a format for it; `Jwt` checks the rest."""
        object.__setattr__(self, "format", member_of(ClaimFormat, self.format))
