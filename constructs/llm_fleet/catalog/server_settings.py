"""What each model server can be told: a setting of ours is an environment variable or an argument of the server's."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSetting:
    """One setting of a model server."""

    name: str
    """As we write it, e.g. `max_input_tokens`."""
    type: Literal["integer", "number", "boolean", "text", "choice", "list", "json"]
    variable: str | None = None
    """The environment variable that carries it; `None` where an argument does."""
    argument: str | None = None
    """The argument that carries it; empty for words that are appended as they are."""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()


@cache
def server_settings(server: str) -> Mapping[str, ServerSetting]:
    """Return the settings of `server` (`tgi`, …) by name, without those that all servers have (batch size …)."""
    return MappingProxyType(
        {name: _setting(name, dict(facts)) for name, facts in load("server_settings")["settings"][server].items()}
    )


def own_arguments() -> frozenset[str]:
    """Return the arguments that a service gives its server by itself, with hyphens: nobody else gives them."""
    return frozenset(load("server_settings")["own_arguments"])


def own_variables(server: str) -> frozenset[str]:
    """Return the environment variables that a service sets for `server` by itself: nobody else sets them."""
    facts = load("server_settings")["own_variables"]
    of_settings = {setting.variable for setting in server_settings(server).values() if setting.variable}
    return frozenset(facts["all"]) | frozenset(facts[server]) | of_settings


def requests_per_slot() -> int:
    """Return how many requests a server takes at once for each place in its batch, those that wait included."""
    number: int = load("server_settings")["requests_per_slot"]
    return number


def keep_alive_margin_seconds() -> int:
    """Return how much longer than the load balancer a server keeps a connection on which nothing happens."""
    seconds: int = load("server_settings")["keep_alive_margin_seconds"]
    return seconds


def execute_model_seconds() -> int:
    """Return how long vLLM's plugin for trn2 may take for one execution, a graph that is still compiled included."""
    seconds: int = load("server_settings")["execute_model_seconds"]
    return seconds


def termination_seconds(server: str) -> int:
    """Return how long `server` is given to finish what it has begun when it is asked to end."""
    seconds: int = load("server_settings")["termination_seconds"][server]
    return seconds


def _setting(name: str, facts: dict[str, Any]) -> ServerSetting:
    choices: list[str] = facts.pop("choices", [])
    return ServerSetting(name=name, choices=tuple(choices), **facts)
