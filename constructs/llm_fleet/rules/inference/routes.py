"""The routes of a service's load balancer, as data: its listener rules and the tests are made from them.

The first route that matches a request, in order of priority, handles it; without a match the answer is `NOT_FOUND`.
"""

import json
from dataclasses import dataclass
from enum import StrEnum

from llm_fleet.catalog.service import front_facts
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.service import Authentication

API_PATHS = "/v1/*"
"""OpenAI's API, as a path pattern of Elastic Load Balancing."""
_CREDENTIALS = (("Authorization", "Bearer ?*"),)


def _compact(value: dict[str, object]) -> str:
    return json.dumps(value, separators=(",", ":"))


class RouteAction(StrEnum):
    """How a request is handled."""

    FORWARD = "forward"
    """It is forwarded to the server."""
    VALIDATE_JWT = "validate-jwt"
    """It is forwarded if its token is valid; if not, the load balancer rejects it."""
    ANSWER = "answer"
    """The load balancer returns a fixed response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A fixed response of the load balancer, in JSON."""

    status: int
    body: str

    @classmethod
    def error(cls, status: int, message: str, code: str) -> "Answer":
        """Return an answer in the form of OpenAI's errors, which OpenAI clients can parse."""
        return cls(
            status=status,
            body=_compact(
                {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}
            ),
        )

    @classmethod
    def models(cls, served_name: str) -> "Answer":
        """Return OpenAI's list of models, with one model."""
        model = {"id": served_name, "object": "model", "created": 0, "owned_by": "llm-fleet"}
        return cls(status=200, body=_compact({"object": "list", "data": [model]}))


NOT_FOUND = Answer.error(404, "Nothing is served at this path; the interface is below /v1/.", "not_found")
UNAUTHORIZED = Answer.error(
    401, "Missing credentials: send the header Authorization: Bearer and your key or token.", "missing_credentials"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A pattern of requests, and how they are handled."""

    name: str
    """Letters and digits; unique in a front."""
    priority: int
    """Of the routes that match a request, the one with the lowest number handles it."""
    paths: tuple[str, ...]
    """Patterns, of which one must match; `*` is any text, `?` any character."""
    action: RouteAction
    methods: tuple[str, ...] = ()
    """HTTP methods; empty matches any."""
    headers: tuple[tuple[str, str], ...] = ()
    """Headers and the patterns of their values, all of which must match."""
    answer: Answer | None = None
    """The response of `RouteAction.ANSWER`."""


def routes(
    authentication: Authentication, *, server: ServerKind, served_name: str, health_path: str = "/health"
) -> tuple[Route, ...]:
    """Return the routes of a front, in order of priority.

    - Only `GET` is allowed for health, without credentials: the response shows only that a server is up.
    - With an API key, requests without one are rejected here, and the server compares the key. Paths below
      `/v1/` that the server answers without comparing it are not forwarded, as the load balancer cannot check the key:
      it returns the list of models itself, with only the name `served_name`.
    - With JWT, the load balancer validates the tokens, for all paths.
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
    """Return routes that replace the server's answers at paths where it does not check the key."""
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
