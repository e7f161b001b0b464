"""Which requests pass the synthesized load balancer, and that each of its rules is required."""

import json
from dataclasses import dataclass
from typing import Any

import openai
import pytest

from llm_fleet_local.serving.local_service import LocalService
from llm_fleet_local.serving.proxy.rules import Requested, first_rule
from llm_fleet_local.serving.template.front import Listener, Rule
from llm_fleet_local.serving.template.problem import NotServable
from llm_fleet_local.serving.template.read_front import read_front
from llm_fleet_local.serving.template.read_service import choose_service, read_services
from llm_fleet_local.serving.template.reader import TemplateReader
from tests.contract.clients import client, send, user
from tests.contract.conftest import Serve

SERVER = "server"
"""The server gets the request."""
CHAT = "/v1/chat/completions"
RULE = "AWS::ElasticLoadBalancingV2::ListenerRule"


@dataclass(frozen=True)
class Probe:
    """A request, and its expected answer: from the server, or a status of the load balancer."""

    method: str
    path: str
    with_key: bool
    answer: str | int


KEY_PROBES = (
    Probe("GET", "/health", False, SERVER),
    Probe("POST", "/health", False, 404),
    Probe("POST", CHAT, True, SERVER),
    Probe("POST", CHAT, False, 401),
    Probe("GET", "/v1/models", False, 401),
    Probe("GET", "/v1/models", True, 200),
    Probe("GET", "/v1/models/tgi", True, 404),
    Probe("GET", "/metrics", True, 404),
    Probe("GET", "/", False, 404),
)
TOKEN_PROBES = (
    Probe("GET", "/health", False, SERVER),
    Probe("POST", CHAT, True, SERVER),
    Probe("POST", CHAT, False, 401),
    Probe("GET", "/v1/models", True, SERVER),
    Probe("GET", "/metrics", True, 404),
)
TRICKS = (
    *("/v1/../metrics", "/v1/../info", "/v1/./../metrics", "/v1/x/../../metrics", "/v1/..", "/v1/..;/metrics"),
    *("/v1/%2e%2e/metrics", "/v1/%2E%2E%2Fmetrics", "/v1/..%2fmetrics", "/v1%2f..%2fmetrics", "/%76%31/models"),
    *("//metrics", "//v1/models", "/v1//models", "///info", "/V1/chat/completions", "/METRICS", "/Metrics"),
    *("/v1\\..\\metrics", "/v1/..\\metrics", "/metrics/", "/metrics?/v1/", "/metrics;/v1/", "/metrics%00/v1/"),
    *("/health/../metrics", "/health/metrics", "/health%2f..%2fmetrics", "/metrics#/v1/", "/v1", "/v1%2Fmodels"),
    *("http://chat.example.com/metrics", "http://chat.example.com/v1/../metrics", "/invocations", "/./metrics"),
)
INTERNAL = ("tgi_", "vllm:", "max_concurrent_requests", "Swagger", "generated_text")
"""Words that only the server's internal routes answer."""


@pytest.mark.parametrize("probe", KEY_PROBES, ids=lambda probe: f"{probe.method} {probe.path} {probe.with_key}")
def test_each_request_is_answered_by_the_server_or_by_the_load_balancer(tgi: LocalService, probe: Probe):
    key = tgi.api_key if probe.with_key else None
    body = {"messages": user("count to 2")} if probe.method == "POST" else None
    status, _ = send(tgi.url, probe.method, probe.path, key=key, body=body)
    reached = tgi.log[-1].target is not None
    assert (status, reached) == ((200, True) if probe.answer == SERVER else (probe.answer, False))


@pytest.mark.parametrize("normalized", [False, True])
def test_no_spelling_of_a_path_reaches_other_routes_of_the_server(serve: Serve, normalized: bool):
    """Whether the load balancer compares paths as sent is not documented, so both must hold."""
    with serve("tgi", 1, normalize_paths=normalized) as service:
        for method in ("GET", "POST"):
            for path in TRICKS:
                for key in (None, service.api_key):
                    before = len(service.log)
                    body = {"inputs": "x", "messages": user("x")} if method == "POST" else None
                    status, text = send(service.url, method, path, key=key, body=body)
                    reached = [entry for entry in service.log[before:] if entry.target]
                    assert 400 <= status < 500 or (status == 200 and not reached), (method, path, status)
                    assert not [word for word in INTERNAL if word in text], (method, path, text)
                    assert not reached or key, (method, path, "without a key nothing but health goes on")
        answered = [line.split() for line in service.tasks[0].log.splitlines() if line.endswith(" 200")]
        assert {path for _, path, _ in answered} == {"/health"}, "the server answered nothing but its health checks"


def test_http_redirects_clients_to_https(tokens: LocalService):
    status, text = send(tokens.listener_url(80), "GET", "/v1/models?x=1")
    assert status == 301
    assert "Location: https://chat.example.com:443/v1/models?x=1\r\n" in text
    assert tokens.log[-1].target is None


def test_errors_of_the_load_balancer_have_the_format_of_openai(tgi: LocalService):
    for path, status in (("/metrics", 404), (CHAT, 401)):
        answered, text = send(tgi.url, "POST", path, body={})
        error = json.loads(text.partition("\r\n\r\n")[2])["error"]
        assert answered == status
        assert {"message", "type", "code"} <= set(error)


def test_the_key_is_in_no_log_and_on_no_command_line(tgi: LocalService):
    """By default, TGI's launcher writes its arguments with the key into its log."""
    assert tgi.api_key
    for task in tgi.tasks:
        assert "listening at port 8080" in task.log
        assert tgi.api_key not in task.log
        assert tgi.api_key not in str(task.process.args)


def test_a_task_with_a_wrong_configuration_does_not_start(template: str, serve: Serve):
    body = json.loads(template)
    for resource in body["Resources"].values():
        for container in resource.get("Properties", {}).get("ContainerDefinitions", []):
            for item in container.get("Environment", []):
                if item["Name"] == "MAX_INPUT_TOKENS":
                    item["Value"] = "512"
    with pytest.raises(NotServable, match=r"`max_input_tokens`\(512\) must be < `max_total_tokens`\(512\)"):
        serve("tgi", 1, body=json.dumps(body)).start()


def matched_rule(listener: Listener, probe: Probe) -> Rule:
    headers = {"authorization": "Bearer key"} if probe.with_key else {}
    return first_rule(listener, Requested(method=probe.method, path=probe.path, headers=headers))


def outcome(listener: Listener, probe: Probe) -> str | int:
    """The action of the rules for a probe, without a server."""
    action = matched_rule(listener, probe).actions[-1]
    return SERVER if action.kind == "forward" else int(action.settings["StatusCode"])


def serving_listener(body: str, service: str) -> Listener:
    reader = TemplateReader(body)
    front = read_front(reader, choose_service(read_services(reader), service).target_group)
    return max(front.listeners, key=lambda listener: listener.port)


@pytest.mark.parametrize(("service", "probes"), [("tgi", KEY_PROBES), ("tokens", TOKEN_PROBES)])
def test_each_rule_is_needed(template: str, service: str, probes: tuple[Probe, ...]):
    """Without any one of the template's rules, some probe has another answer."""
    whole = serving_listener(template, service)
    wanted = [probe.answer for probe in probes]
    assert [outcome(whole, probe) for probe in probes] == wanted
    names = [rule.name for rule in whole.rules if rule.conditions]
    assert len(names) >= 3
    for name in names:
        body: dict[str, Any] = json.loads(template)
        assert body["Resources"].pop(name)["Type"] == RULE
        try:
            less = serving_listener(json.dumps(body), service)
        except NotServable:
            continue
        assert [outcome(less, probe) for probe in probes] != wanted, name


def test_without_its_rule_a_chat_request_is_rejected(template: str, serve: Serve):
    """The same with a running service: without the forwarding rule, the client's request is rejected."""
    body: dict[str, Any] = json.loads(template)
    del body["Resources"][matched_rule(serving_listener(template, "tgi"), Probe("POST", CHAT, True, SERVER)).name]
    with serve("tgi", 1, body=json.dumps(body)) as service, pytest.raises(openai.AuthenticationError):
        client(service).chat.completions.create(model="tgi", messages=user("count to 2"))
