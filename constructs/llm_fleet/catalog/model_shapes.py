"""Models whose numbers are known by name, and what memory they need beside their weights."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """One model."""

    repository: str
    """Where it is on the Hugging Face Hub."""
    config: Mapping[str, Any]
    """The numbers of its `config.json`, by their names there."""
    parameters: int | None = None
    """How many weights the Hub tells; `None` where we have not seen it."""
    unverified: bool = False
    """Whether the numbers are as generally known, and not read in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMemory:
    """What a model takes beside its weights and its cache. Estimates; the data file says of what."""

    usable_share: float
    """Which part of a NeuronCore's memory weights and cache may fill."""
    server_gib: float
    """Host memory of the server itself."""
    export_gib: float
    """Host memory of the compiler."""
    export_copies: int
    """How often the weights are in host memory while they are exported."""
    cache_margin: float
    """How much larger than the weights the cache on the host is."""


@cache
def model_memory() -> ModelMemory:
    """Return the estimates."""
    return ModelMemory(**load("model_memory"))


def known_model(name: str) -> KnownModel | None:
    """Return the model that `name` names, whatever its case, e.g. `Llama-2-7b-hf` or `tanuki-8b`; else `None`."""
    bare = bare_name(name)
    return None if bare is None else _by_name()[bare]


def bare_name(name: str) -> str | None:
    """Return which of the known names `name` is, whatever its case and without `-hf` and its like; else `None`."""
    known = _by_name()
    folded = name.casefold()
    while folded not in known:
        ending = next((ending for ending in _endings() if folded.endswith(ending)), None)
        if ending is None:
            return None
        folded = folded.removesuffix(ending)
    return folded


@cache
def _endings() -> tuple[str, ...]:
    return tuple(load("model_shapes")["endings"])


@cache
def _by_name() -> Mapping[str, KnownModel]:
    found: dict[str, KnownModel] = {}
    for facts in load("model_shapes")["models"]:
        rest = {key: value for key, value in facts.items() if key != "names"}
        model = KnownModel(**rest)
        found |= dict.fromkeys(facts["names"], model)
    return found
