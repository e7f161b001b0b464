"""What passes through the front of a service, as data: the load balancer's rules and the tests are made of it.

A request meets the first route that it fits, in order of priority; one that fits none gets `NOT_FOUND`.
"""

import json
from dataclasses import dataclass
from enum import StrEnum

from llm_fleet.catalog.service import front_facts
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.service import Authentication

API_PATHS = "/v1/*"
"""OpenAI's interface, as Elastic Load Balancing writes a path pattern."""
_CREDENTIALS = (("Authorization", "Bearer ?*"),)


def _compact(value: dict[str, object]) -> str:
    return json.dumps(value, separators=(",", ":"))


class RouteAction(StrEnum):
    """What becomes of a request."""

    FORWARD = "forward"
    """The server gets it."""
    VALIDATE_JWT = "validate-jwt"
    """The server gets it when its token is good; else the load balancer refuses it."""
    ANSWER = "answer"
    """The load balancer answers by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer of the load balancer's own, in JSON."""

    status: int
    body: str

    @classmethod
    def error(cls, status: int, message: str, code: str) -> "Answer":
        """Return an answer in the form of OpenAI's errors, which their clients can read."""
        return cls(
            status=status,
            body=_compact(
                {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}
            ),
        )

    @classmethod
    def models(cls, served_name: str) -> "Answer":
        """Return OpenAI's list of models, of which there is one."""
        model = {"id": served_name, "object": "model", "created": 0, "owned_by": "llm-fleet"}
        return cls(status=200, body=_compact({"object": "list", "data": [model]}))


NOT_FOUND = Answer.error(404, "Nothing is served at this path; the interface is below /v1/.", "not_found")
UNAUTHORIZED = Answer.error(
    401, "Missing credentials: send the header Authorization: Bearer and your key or token.", "missing_credentials"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Requests of one kind, and what becomes of them."""

    name: str
    """Letters and digits; unique in a front."""
    priority: int
    """Of the routes that a request fits, the one with the lowest is taken."""
    paths: tuple[str, ...]
    """Patterns, of which one must fit; `*` is any text, `?` any character."""
    action: RouteAction
    methods: tuple[str, ...] = ()
    """HTTP methods; empty is any."""
    headers: tuple[tuple[str, str], ...] = ()
    """Headers and the patterns of their values, all of which a request must have."""
    answer: Answer | None = None
    """With `RouteAction.ANSWER`: which."""


def routes(
    authentication: Authentication, *, server: ServerKind, served_name: str, health_path: str = "/health"
) -> tuple[Route, ...]:
    """Return the routes of a front, in order of priority.

    - Health is answered to `GET` alone, to whoever reaches the front: it tells no more than that a server is up.
    - With a key, a request without one is refused here, and the server compares the key. What the server answers below
      `/v1/` without comparing it is not forwarded at all, as the load balancer cannot tell a good key from a bad one:
      it answers the list of models by itself, which tells the name `served_name` and nothing of the server.
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
        headers=_CREDENTIALS,
        action=RouteAction.FORWARD if with_key else RouteAction.VALIDATE_JWT,
    )
    missing = Route(
        name="MissingCredentials",
        priority=40,
        paths=(API_PATHS,),
        action=RouteAction.ANSWER,
        answer=UNAUTHORIZED,
    )
    unguarded = front_facts().answered_without_key[server] if with_key else ()
    return (health, *_in_place_of(unguarded, served_name), api, missing)


def _in_place_of(unguarded: tuple[str, ...], served_name: str) -> tuple[Route, ...]:
    """Return the answers in place of those of a server that asks nobody for its key at these paths."""
    if not unguarded:
        return ()
    return (
        Route(
            name="Models",
            priority=20,
            paths=unguarded,
            methods=("GET",),
            headers=_CREDENTIALS,
            action=RouteAction.ANSWER,
            answer=Answer.models(served_name),
        ),
        Route(
            name="NotGuarded",
            priority=25,
            paths=(*unguarded, *(f"{path}/*" for path in unguarded)),
            headers=_CREDENTIALS,
            action=RouteAction.ANSWER,
            answer=NOT_FOUND,
        ),
    )
