"""What passes through the front of a service, as data: the load balancer's rules and the tests are made of it.

A request meets the first route that it fits, in this order; one that fits none gets `NOT_FOUND`.
"""

import json
from dataclasses import dataclass, field
from enum import StrEnum

from llm_fleet.catalog.inference_front import front_facts
from llm_fleet.rules.inference.terms import Authentication, ServerKind

API_PATHS = "/v1/*"
"""OpenAI's interface, as Elastic Load Balancing writes a path pattern."""
_BEARER = "Bearer ?*"


class RouteAction(StrEnum):
    """What becomes of a request."""

    FORWARD = "forward"
    """The server gets it."""
    VALIDATE_JWT = "validate-jwt"
    """The server gets it when its token is good; else the load balancer refuses it."""
    REFUSE = "refuse"
    """The load balancer answers by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An answer of the load balancer's own, in the form of OpenAI's errors, which their clients can read."""

    status: int
    message: str
    error_type: str
    code: str

    @property
    def body(self) -> str:
        """The JSON."""
        error = {"message": self.message, "type": self.error_type, "param": None, "code": self.code}
        return json.dumps({"error": error}, separators=(",", ":"))


NOT_FOUND = Refusal(
    status=404,
    message="Nothing is served at this path; the interface is below /v1/.",
    error_type="invalid_request_error",
    code="not_found",
)
UNAUTHORIZED = Refusal(
    status=401,
    message="Missing credentials: send the header Authorization: Bearer and your key or token.",
    error_type="invalid_request_error",
    code="missing_credentials",
)
NOT_GUARDED = Refusal(
    status=404,
    message="This server answers this path without asking for its key, so it is not served.",
    error_type="invalid_request_error",
    code="not_served",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Requests of one kind, and what becomes of them."""

    name: str
    """Letters and digits; unique in a front."""
    priority: int
    """The lowest that fits is taken."""
    paths: tuple[str, ...]
    """Patterns; `*` is any text, `?` any character."""
    action: RouteAction
    methods: tuple[str, ...] = ()
    """HTTP methods; empty is any."""
    headers: tuple[tuple[str, str], ...] = field(default=())
    """A header and the pattern of its value, all of which a request must have."""
    refusal: Refusal | None = None
    """With `RouteAction.REFUSE`: the answer."""


def routes(authentication: Authentication, *, server: ServerKind, health_path: str = "/health") -> tuple[Route, ...]:
    """Return the routes of a front, in order of priority.

    - Health is answered to `GET` alone, to whoever reaches the front: it tells no more than that the server is up.
    - With a key, a request without one is refused here, and the server compares the key. A path below `/v1/` that the
      server answers without comparing it is not forwarded at all: the load balancer cannot tell a good key from a bad.
    - With tokens, the load balancer checks them, for every path alike.
    """
    health = Route(name="Health", priority=10, paths=(health_path,), methods=("GET",), action=RouteAction.FORWARD)
    if authentication is Authentication.NONE:
        return (health, Route(name="Api", priority=30, paths=(API_PATHS,), action=RouteAction.FORWARD))
    with_key = authentication is Authentication.API_KEY
    api = Route(
        name="Api",
        priority=30,
        paths=(API_PATHS,),
        headers=(("Authorization", _BEARER),),
        action=RouteAction.FORWARD if with_key else RouteAction.VALIDATE_JWT,
    )
    missing = Route(
        name="MissingCredentials", priority=40, paths=(API_PATHS,), action=RouteAction.REFUSE, refusal=UNAUTHORIZED
    )
    unguarded = front_facts().answered_without_key[server] if with_key else ()
    if not unguarded:
        return (health, api, missing)
    shut = Route(name="NotGuarded", priority=20, paths=unguarded, action=RouteAction.REFUSE, refusal=NOT_GUARDED)
    return (health, shut, api, missing)
