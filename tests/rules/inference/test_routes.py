"""The routes of a front, for each kind of server and credentials."""

import json
import re
from dataclasses import dataclass, field

import pytest
from botocore.session import get_session

from llm_fleet.catalog.service import front_facts
from llm_fleet.rules.inference.routes import NOT_FOUND, UNAUTHORIZED, Answer, Route, RouteAction, routes
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.service import Authentication

FORWARD, VALIDATE = RouteAction.FORWARD, RouteAction.VALIDATE_JWT
MODELS = Answer.models("tanuki")
ALL = [(authentication, server) for authentication in Authentication for server in ServerKind]
# Every route of TGI's router (router/src/server.rs) and of vLLM's server (docs/usage/security.md) outside /v1.
INNER = (
    "/", "/generate", "/generate_stream", "/vertex", "/invocations", "/tokenize", "/detokenize", "/chat_tokenize",
    "/info", "/ping", "/metrics", "/docs", "/api-doc/openapi.json", "/version", "/load", "/pause", "/resume",
    "/update_weights", "/sleep", "/collective_rpc", "/v2/embed", "/inference/v1/generate", "/score", "/pooling",
    "/start_profile", "/server_info", "/tokenizer_info", "/v1", "/v10/models", "/health/", "/Health", "//v1/models",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request as a load balancer sees it."""

    path: str
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict[str, str])


KEYED = {"authorization": "Bearer abc"}
CHAT = Request(path="/v1/chat/completions", method="POST")
CHAT_KEYED = Request(path="/v1/chat/completions", method="POST", headers=KEYED)


def fits(pattern: str, text: str) -> bool:
    """Patterns of Elastic Load Balancing support only `*` and `?`."""
    return re.fullmatch("".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in pattern), text, re.S) is not None


def taken(route: Route, request: Request) -> bool:
    headers = {name.lower(): value.lower() for name, value in request.headers.items()}
    return (
        any(fits(path, request.path) for path in route.paths)
        and (not route.methods or request.method in route.methods)
        and all(fits(pattern.lower(), headers.get(name.lower(), "")) for name, pattern in route.headers)
    )


def outcome(request: Request, authentication: Authentication, server: ServerKind) -> RouteAction | Answer:
    """Return how a request is handled: forwarded, its token validated, or answered."""
    made = routes(authentication, server=server, served_name="tanuki")
    for route in sorted(made, key=lambda route: route.priority):
        if taken(route, request):
            return route.answer or route.action
    return NOT_FOUND


@pytest.mark.parametrize(("authentication", "server"), ALL)
def test_nothing_but_the_api_and_health_reaches_a_server(authentication: Authentication, server: ServerKind) -> None:
    for path in INNER:
        for method in ("GET", "POST", "HEAD", "OPTIONS"):
            request = Request(path=path, method=method, headers=KEYED)
            assert outcome(request, authentication, server) == NOT_FOUND, request


@pytest.mark.parametrize(("authentication", "server"), ALL)
def test_the_health_check_allows_only_get(authentication: Authentication, server: ServerKind) -> None:
    assert outcome(Request(path="/health"), authentication, server) is FORWARD
    assert outcome(Request(path="/health", method="POST"), authentication, server) == NOT_FOUND


@pytest.mark.parametrize("server", ServerKind)
def test_requests_without_credentials_are_rejected_if_they_are_required(server: ServerKind) -> None:
    for request in (CHAT, Request(path="/v1/models"), Request(path="/v1/anything", headers={"authorization": "abc"})):
        assert outcome(request, Authentication.API_KEY, server) == UNAUTHORIZED
        assert outcome(request, Authentication.JWT, server) == UNAUTHORIZED
        assert outcome(request, Authentication.NONE, server) is FORWARD
    empty = Request(path="/v1/models", headers={"authorization": "Bearer "})
    assert outcome(empty, Authentication.API_KEY, server) == UNAUTHORIZED


@pytest.mark.parametrize("server", ServerKind)
def test_credentials_are_validated_by_the_server_or_the_load_balancer(server: ServerKind) -> None:
    assert outcome(CHAT_KEYED, Authentication.API_KEY, server) is FORWARD
    assert outcome(CHAT_KEYED, Authentication.JWT, server) is VALIDATE
    assert outcome(Request(path="/v1/models", headers=KEYED), Authentication.JWT, server) is VALIDATE


def test_the_load_balancer_answers_paths_that_the_server_answers_without_a_key() -> None:
    listed = Request(path="/v1/models", headers=KEYED)
    assert outcome(listed, Authentication.API_KEY, ServerKind.TGI) == MODELS
    assert outcome(listed, Authentication.API_KEY, ServerKind.AWS_VLLM) is FORWARD
    for method in ("HEAD", "POST", "OPTIONS"):
        shut = Request(path="/v1/models", method=method, headers=KEYED)
        assert outcome(shut, Authentication.API_KEY, ServerKind.TGI) == NOT_FOUND
    assert outcome(Request(path="/v1/models/x", headers=KEYED), Authentication.API_KEY, ServerKind.TGI) == NOT_FOUND


def test_answers_have_the_format_of_openai() -> None:
    for answer in (NOT_FOUND, UNAUTHORIZED):
        assert set(json.loads(answer.body)["error"]) == {"message", "type", "param", "code"}
    assert [model["id"] for model in json.loads(MODELS.body)["data"]] == ["tanuki"]
    assert json.loads(Answer.models('a"\\b').body)["data"][0]["id"] == 'a"\\b'


def test_answers_and_priorities_are_valid_for_elastic_load_balancing() -> None:
    shapes = get_session().get_service_model("elbv2")
    body = shapes.shape_for("FixedResponseActionMessage").metadata["max"]
    most = shapes.shape_for("RulePriority").metadata["max"]
    assert body == front_facts().fixed_response_characters
    for authentication, server in ALL:
        made = routes(authentication, server=server, served_name="x" * 256)
        assert len({route.priority for route in made}) == len({route.name for route in made}) == len(made)
        assert all(1 <= route.priority <= most for route in made)
        assert all(len(route.answer.body) <= body for route in made if route.answer)
        assert [route.priority for route in made] == sorted(route.priority for route in made)
