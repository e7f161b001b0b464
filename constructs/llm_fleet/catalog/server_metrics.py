"""What each model server tells of itself at its metrics path."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from types import MappingProxyType
from typing import Any

from llm_fleet.catalog.data_file import load

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
