"""ParallelCluster's keys as a tree, each with the policy of its updates."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of ParallelCluster's cluster schema."""

    name: str
    policy: str
    """Name of its update policy, e.g. `UNSUPPORTED`."""
    is_list: bool
    is_section: bool
    """Whether it, or each item of it, has keys of its own."""
    item_key: str | None
    """By which key the items of a list of sections are told apart when two configurations are compared."""
    children: Mapping[str, "Key"]

    @property
    def has_items(self) -> bool:
        """Whether it is a list of sections, e.g. `SlurmQueues`."""
        return self.is_list and self.is_section


@cache
def top_level_keys() -> Mapping[str, Key]:
    """Return the keys at the top of a configuration, those of sections below them."""
    facts: dict[str, dict[str, Any]] = load("parallelcluster_schema")
    below: dict[str, list[str]] = {}
    for path in facts:
        below.setdefault(path.rpartition("/")[0], []).append(path)
    return _children("", facts, below)


def _children(parent: str, facts: dict[str, dict[str, Any]], below: dict[str, list[str]]) -> dict[str, Key]:
    return {key.name: key for key in (_key(path, facts, below) for path in below.get(parent, ()))}


def _key(path: str, facts: dict[str, dict[str, Any]], below: dict[str, list[str]]) -> Key:
    told = facts[path]
    return Key(
        name=path.rpartition("/")[2].removesuffix("[]"),
        # ParallelCluster takes a key without a policy for one that cannot be updated (config_patch.py).
        policy=told.get("policy", "UNSUPPORTED"),
        is_list=path.endswith("[]"),
        is_section=told["type"] == "section",
        item_key=told.get("key"),
        children=_children(path, facts, below),
    )
