"""Facts about the programs that serve models: their images, instance families, runtimes and ports."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

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
