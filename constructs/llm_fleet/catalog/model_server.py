"""Model servers of inference services: releases, settings, metrics, and how models are exported for them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelServerFacts:
    """One program in one image."""

    name: str
    """As the fleet file writes it, e.g. `tgi`."""
    title: str
    """Program and version, for messages."""
    maintenance: str | None
    """Why nothing new comes to it; `None` where it is alive."""
    repository: str
    """Where the image is; `{account}`, `{region}` and `{suffix}` stand for those of the user's region."""
    tag: str
    accounts: str | None
    """Which table of accounts by region the repository is in; `None` for one that is the same everywhere."""
    families: tuple[str, ...]
    """Instance families that it runs on, e.g. `inf2`."""
    runtime: str
    """Version of `aws-neuronx-runtime-lib` in the image."""
    compiler: str
    """Version of `neuronx-cc` in the image: a model compiled by another is refused."""
    port: int
    """The port that we have it listen at."""
    health_path: str
    metrics_path: str
    image_gib: int
    """What the unpacked image takes on the root volume, about."""


@cache
def model_servers() -> Mapping[str, ModelServerFacts]:
    """Return every server in the catalog by name."""
    return MappingProxyType({name: _facts(name, dict(facts)) for name, facts in load("model_servers").items()})


def _facts(name: str, facts: dict[str, Any]) -> ModelServerFacts:
    families: list[str] = facts.pop("families")
    return ModelServerFacts(name=name, families=tuple(families), **facts)


def image_account(table: str, region: str) -> str | None:
    """Return the account whose registry has the image in `region`; `None` where it is not offered."""
    account: str | None = load("image_accounts")[table].get(region)
    return account


def image_regions(table: str) -> tuple[str, ...]:
    """Return the regions that have images of `table`."""
    return tuple(load("image_accounts")[table])


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


def default_batch_size() -> int:
    """Return how many sequences are generated side by side where no one says it: a model of 8B on an inf2.xlarge has
    room for them in a sequence of the default length."""
    number: int = load("server_settings")["batch_size"]
    return number


def default_sequence_length() -> int:
    """Return how many tokens prompt and answer have together, at most, where no one says it."""
    number: int = load("server_settings")["sequence_length"]
    return number


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


_FAMILY = {"tgi": "tgi", "hugging-face-vllm": "vllm", "aws-vllm": "vllm", "aws-vllm-neuron": "vllm"}
"""Whose metrics a server has, by its name in the catalog of model servers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerMetric:
    """One Prometheus metric of a server."""

    name: str
    """As the server writes it; of a histogram without `_bucket`, `_sum` and `_count`."""
    type: str
    """`gauge`, `counter` or `histogram`."""
    unit: str
    """As CloudWatch says it: `Count` or `Seconds`."""
    labels: Mapping[str, str]
    """Labels that single out the series that is meant; empty where there is one series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerMetrics:
    """Which metrics answer which question. Averages of several are added up; none: the server does not tell."""

    waiting: tuple[ServerMetric, ...]
    """How many requests wait now."""
    running: tuple[ServerMetric, ...]
    """How many sequences are generated now."""
    time_to_first_token: tuple[ServerMetric, ...]
    """How long until a request's first token."""
    time_per_token: tuple[ServerMetric, ...]
    """How long each further token takes."""
    answer_time: tuple[ServerMetric, ...]
    """How long a whole answer takes."""
    answer_tokens: tuple[ServerMetric, ...]
    """How many tokens an answer has."""
    rejected: tuple[ServerMetric, ...]
    """Requests turned away because too many were there."""
    failed: tuple[ServerMetric, ...]
    """Answers that failed in the server without a 5xx: it answers something else, or its stream had begun."""

    @property
    def all(self) -> tuple[ServerMetric, ...]:
        """Every metric, once."""
        found = [metric for field in fields(self) for metric in getattr(self, field.name)]
        return tuple({metric.name: metric for metric in found}.values())


@cache
def server_metrics(server: str) -> ServerMetrics:
    """Return what the server called `server` in the catalog tells, e.g. `tgi`."""
    facts: Mapping[str, list[dict[str, Any]]] = load("server_metrics")[_FAMILY[server]]
    return ServerMetrics(**{question: tuple(map(_metric, metrics)) for question, metrics in facts.items()})


def _metric(facts: dict[str, Any]) -> ServerMetric:
    labels: dict[str, str] = facts.get("labels", {})
    return ServerMetric(name=facts["name"], type=facts["type"], unit=facts["unit"], labels=MappingProxyType(labels))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportFacts:
    """How the image of one server exports, by optimum-neuron's command line."""

    cores: str
    """Argument for over how many cores the model is spread."""
    cast: str | None
    """Argument for the type that weights are cast to; `None` where the checkpoint's own is kept."""
    instance_type: str | None
    """Argument for the family that it is compiled for; `None` where only the host's own can be."""
    cpu: bool
    """Whether it can on a host without Neuron devices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FargateFacts:
    """The largest tasks of Fargate."""

    cpu: int
    """CPU units."""
    memory_min_gib: int
    memory_max_gib: int
    memory_step_gib: int
    storage_max_gib: int


@cache
def model_exports() -> Mapping[str, ExportFacts]:
    """Return the servers whose images can export, by their names."""
    return MappingProxyType({name: ExportFacts(**facts) for name, facts in load("model_exports")["servers"].items()})


def fargate_facts() -> FargateFacts:
    """Return what Fargate has."""
    return FargateFacts(**load("model_exports")["fargate"])


def export_disk_copies() -> int:
    """Return how often the weights are on the disk while they are exported."""
    copies: int = load("model_exports")["disk_copies"]
    return copies


def tools_image() -> str:
    """Return the image of AWS's command line, which moves models between S3 and the disk."""
    image: str = load("model_exports")["tools_image"]
    return image
