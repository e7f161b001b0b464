"""How often AWS lets itself be asked, and how much it tells at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRate:
    """A bucket of calls and how fast it fills."""

    burst: int
    per_second: float


@cache
def api_rate(call: str) -> ApiRate:
    """Return the rate of `start_session`, `list_cluster_nodes`, `describe_instances` or `list_ecs`."""
    return ApiRate(**_data()[call])


@cache
def page_size(call: str) -> int:
    """Return how much one call tells at most."""
    sizes: Mapping[str, int] = _data()["page_sizes"]
    return sizes[call]


def _data() -> Mapping[str, Any]:
    return load("api_rates")
