"""Which rule applies to a request."""

import pytest

from llm_fleet_local.serving.proxy.rules import Requested, first_rule, normalized
from llm_fleet_local.serving.template.front import Action, Condition, Listener, Rule


def rule(name: str, *conditions: Condition) -> Rule:
    return Rule(name=name, priority=1, conditions=conditions, actions=(Action(kind="forward"),))


def listener(*rules: Rule) -> Listener:
    return Listener(name="L", port=80, protocol="HTTP", rules=(*rules, rule("default")))


def path(*patterns: str) -> Condition:
    return Condition(kind="path-pattern", patterns=patterns)


def met(listener: Listener, path: str, method: str = "GET", **headers: str) -> str:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return first_rule(listener, Requested(method=method, path=path, headers=named)).name


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("/v1/*", "/v1/chat/completions", True),
        ("/v1/*", "/v1/", True),
        ("/v1/*", "/v1", False),
        ("/v1/*", "/V1/models", False),
        ("/v1/*", "//v1/models", False),
        ("/v1/*", "/v1%2Fmodels", False),
        ("/v1/*", "/x/v1/models", False),
        ("/v?/m", "/v1/m", True),
        ("/v?/m", "/v/m", False),
        ("/v?/m", "/v12/m", False),
        ("/a.b", "/axb", False),
    ],
)
def test_a_path_must_match_a_pattern_completely_and_case_sensitively(pattern: str, path: str, fits: bool):
    condition = Condition(kind="path-pattern", patterns=(pattern,))
    assert met(listener(rule("fits", condition)), path) == ("fits" if fits else "default")


def test_all_conditions_must_be_met_by_at_least_one_pattern_each():
    both = rule("both", path("/a", "/b"), Condition(kind="http-request-method", patterns=("GET", "PUT")))
    assert met(listener(both), "/b", "PUT") == "both"
    assert met(listener(both), "/b", "POST") == "default"
    assert met(listener(both), "/b", "put") == "default"
    assert met(listener(both), "/c", "GET") == "default"


def test_the_first_of_two_matching_rules_is_used():
    assert met(listener(rule("first", path("/v1/models")), rule("second", path("/v1/*"))), "/v1/models") == "first"


def test_headers_are_compared_case_insensitively():
    bearer = Condition(kind="http-header", patterns=("Bearer ?*",), header="Authorization")
    front = listener(rule("keyed", bearer))
    assert met(front, "/", authorization="bearer x") == "keyed"
    assert met(front, "/", authorization="Bearer ") == "default"
    assert met(front, "/") == "default"


def test_hosts_are_compared_without_their_port():
    front = listener(rule("host", Condition(kind="host-header", patterns=("*.example.com",))))
    assert met(front, "/", host="Chat.Example.com:8443") == "host"
    assert met(front, "/", host="example.com") == "default"


@pytest.mark.parametrize(
    ("path", "short"),
    [
        ("/v1/../metrics", "/metrics"),
        ("/v1/./models", "/v1/models"),
        ("/v1/%2e%2E/metrics", "/metrics"),
        ("//v1///models", "/v1/models"),
        ("/../../v1/x", "/v1/x"),
        ("/v1/..", "/"),
        ("/v1/a/../../metrics/", "/metrics/"),
        ("/v1/..x/y", "/v1/..x/y"),
    ],
)
def test_a_normalized_path_has_no_dots_and_no_double_slashes(path: str, short: str):
    assert normalized(path) == short
