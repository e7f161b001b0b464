"""The page about the front: its table is the routes, its examples run, and nothing that can be set is left out."""

import inspect
import os
import re

import pytest

from llm_fleet.catalog.service import front_facts
from llm_fleet.config.load import parse_fleet
from llm_fleet.inference.front import LoadBalancerFront
from llm_fleet.rules.inference.routes import Route, RouteAction, routes
from llm_fleet.spec.front import Authentication, Front, Jwt, JwtClaim
from llm_fleet.spec.model_server import ServerKind
from tools.synth_environment import ROOT

PAGE = ROOT / "docs" / "constructs" / "inference-front.md"
TEXT = PAGE.read_text()


def becomes(route: Route) -> str:
    if route.answer is not None:
        return str(route.answer.status) if route.answer.status >= 400 else "the list of models, by the load balancer"
    return "token checked, then the server" if route.action is RouteAction.VALIDATE_JWT else "the server"


def routes_table() -> str:
    kinds = {
        "API key, TGI": (Authentication.API_KEY, ServerKind.TGI),
        "API key, vLLM": (Authentication.API_KEY, ServerKind.AWS_VLLM),
        "tokens": (Authentication.JWT, ServerKind.TGI),
        "none": (Authentication.NONE, ServerKind.TGI),
    }
    made = {name: {r.name: r for r in routes(a, server=s, served_name="chat")} for name, (a, s) in kinds.items()}
    every = {name: route for table in made.values() for name, route in table.items()}
    rows = [f"| request | {' | '.join(kinds)} |", "|---" * (len(kinds) + 1) + "|"]
    for name, route in sorted(every.items(), key=lambda item: item[1].priority):
        paths = ", ".join(f"`{path}`" for path in route.paths)
        method = f"{route.methods[0]} " if route.methods else ""
        credentials = (
            " with `Authorization: Bearer ?*`" if any(t[name].headers for t in made.values() if name in t) else ""
        )
        cells = [becomes(table[name]) if name in table else "" for table in made.values()]
        rows.append(f"| {method}{paths}{credentials} | {' | '.join(cells)} |")
    return "\n".join(rows)


def test_the_table_of_routes_is_what_is_made() -> None:
    marked = re.compile(r"(<!-- generated: routes -->\n).*?(<!-- end -->)", re.DOTALL)
    assert len(marked.findall(TEXT)) == 1
    right = marked.sub(lambda match: f"{match[1]}{routes_table()}\n{match[2]}", TEXT)
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(right)
    assert PAGE.read_text() == right, "the routes have changed: run `make golden`"


def test_examples_run() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    made: dict[str, object] = {}
    exec(compile(block, str(PAGE), "exec"), made)
    assert isinstance(made["front"], Front)


def test_the_fleet_file_is_good() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    assert parse_fleet(text).services["chat"].front.domain_name == "chat.example.com"


@pytest.mark.parametrize("value", [Front, Jwt, JwtClaim])
def test_every_field_is_explained(value: type[Front | Jwt | JwtClaim]) -> None:
    assert [name for name in value.model_fields if f"`{name}`" not in TEXT] == []


def test_every_parameter_is_named() -> None:
    parameters = set(inspect.signature(LoadBalancerFront.__init__).parameters) - {"self", "scope", "id"}
    assert len(parameters) > 5
    assert [name for name in parameters if f"`{name}`" not in TEXT] == []


def test_numbers_are_the_catalogs() -> None:
    facts = front_facts()
    check = facts.health_check
    for told in (
        facts.tls_policy,
        f"| {facts.default_longest_answer_seconds} s, as long as OpenAI's clients wait; up to "
        f"{facts.longest_answer_seconds.maximum} s",
        f"| {facts.default_requests_per_five_minutes} of one address",
        f"{facts.api_key_characters} lower-case letters and digits",
        f"each {check.interval_seconds} s, {check.timeout_seconds} s to answer, {check.healthy_threshold} good ones to "
        f"begin, {check.unhealthy_threshold} bad ones to stop",
        f"{facts.client_keep_alive_seconds} s, the load balancer's own",
    ):
        assert told in TEXT
