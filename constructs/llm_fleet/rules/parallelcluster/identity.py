"""What makes a cluster of ParallelCluster the one that it is: the name tells clusters apart that no update turns into
one another.

An update to a key that ParallelCluster never changes fails, and may leave the stack stuck. With a hash of those keys in
the name, such a change is another cluster, made beside the old one, which goes once the new one stands.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from llm_fleet.rules.parallelcluster.update.chef_attributes import fixed_attributes
from llm_fleet.rules.parallelcluster.update.keys import Key, top_level_keys
from llm_fleet.rules.parallelcluster.update.storage_policies import HOME_DIRS
from llm_fleet.rules.parallelcluster.update.values import Section, is_intrinsic, items_at, normal, section_at
from llm_fleet.rules.tokens import is_unresolved

HASH_SUFFIX_LENGTH = 9
"""Characters that `name_with_hash` adds: a hyphen and eight hexadecimal digits."""
NEVER_CHANGED = frozenset({"UNSUPPORTED", "READ_ONLY_RESOURCE_BUCKET", "UNKNOWN"})
"""Policies under which ParallelCluster refuses every update."""
# The scripts' own places hold the name, and a name cannot depend on itself.
_HOLDS_THE_NAME = ("HeadNode/CustomActions",)


def name_with_hash(name: str, configuration: Section, version: str) -> str:
    """Return `<name>-<8 hex digits>` for the cluster `name` of this configuration and version of ParallelCluster.

    `configuration` is ParallelCluster's own, with CDK tokens resolved to CloudFormation's intrinsic functions. Raises
    `ValueError` where a token is left: the digits would change from one synth to the next.
    """
    return f"{name}-{identity_hash(configuration, version)}"


def identity_hash(configuration: Section, version: str, *, scripts: Any = None) -> str:
    """Return the eight digits; see `name_with_hash`.

    `scripts`: where those of the head node lie, but for the name that is in their keys; plain values, and functions of
    CloudFormation. No update moves them, nor gives them to a head node that was made without. Default: it runs none.
    """
    parts = {"Version": version, "Scripts": scripts, **immutable_parts(configuration)}
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def immutable_parts(configuration: Section) -> dict[str, Any]:
    """Return, by path, everything whose change needs a new cluster whatever is stopped before.

    Those are the keys that ParallelCluster's own policies never update, sections of such keys (that they are there),
    and the mount of `/home`. Not among them are the items of lists, e.g. queues: an item of another name is added and
    the old one removed. Nor are the head node's scripts, whose places hold the name.
    """
    parts: dict[str, Any] = {}
    # Queues are left out before anything else: they are the bulk of a configuration, and nothing of them counts.
    scheduling = {**section_at(configuration, "Scheduling"), "SlurmQueues": None}
    told = normal({**configuration, "Scheduling": scheduling} if "Scheduling" in configuration else configuration)
    _collect(top_level_keys(), told, "", parts)
    for home in items_at(told, "SharedStorage"):
        if home.get("MountDir") in HOME_DIRS:
            _collect(top_level_keys()["SharedStorage"].children, home, "SharedStorage[/home]/", parts)
    unknown = [path for path, value in parts.items() if is_unresolved(json.dumps(value))]
    if unknown:
        raise ValueError(f"the configuration still holds CDK tokens, at {', '.join(unknown)}: resolve it before")
    return parts


def _collect(keys: Mapping[str, Key], section: Section, prefix: str, parts: dict[str, Any]) -> None:
    for key in keys.values():
        path = f"{prefix}{key.name}"
        value = section.get(key.name)
        if value is not None and path not in _HOLDS_THE_NAME:
            _collect_key(key, value, path, parts)


def _collect_key(key: Key, value: Any, path: str, parts: dict[str, Any]) -> None:
    fixed = key.policy in NEVER_CHANGED
    if key.policy == "EXTRA_CHEF_ATTRIBUTES":
        if attributes := fixed_attributes(value):
            parts[path] = attributes
    elif fixed and key.has_items:
        for item in items_at({key.name: value}, key.name):
            place = f"{path}[{item.get(key.item_key or 'Name')}]"
            parts[place] = "there"
            _collect(key.children, item, f"{place}/", parts)
    elif is_intrinsic(value) and key.is_section:
        parts[path] = value  # What is in it is known at deployment only.
    elif not key.is_section:
        if fixed:
            parts[path] = value
    elif value and not key.is_list:
        if fixed:
            parts[path] = "there"
        _collect(key.children, value, f"{path}/", parts)
