"""Lets a reference to published scripts tell their content.

The scripts that updates roll are named by attributes of the custom resource that publishes them. Such a reference stays
the same whatever is published; with a digest of what the resource is given beside it, two of them can be told apart.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, cast

from llm_fleet.rules.parallelcluster.update.values import Section, as_list, items_at, section_at

_PLACE = ".place"
_PLACE_PROPERTIES = ("Bucket", "Root")
"""Of the resource that publishes a bundle: what its keys that stay are made of."""
_CUSTOM = ("Custom::", "AWS::CloudFormation::CustomResource")


def digests_of(resources: Mapping[str, Any]) -> dict[str, str]:
    """Return a digest of each custom resource of a template, by logical id, and of its place, by `<id>.place`."""
    digests: dict[str, str] = {}
    for logical_id, resource in resources.items():
        if str(resource.get("Type")).startswith(_CUSTOM):
            told = section_at(resource, "Properties")
            digests[logical_id] = _digest(told)
            digests[f"{logical_id}{_PLACE}"] = _digest({name: told.get(name) for name in _PLACE_PROPERTIES})
    return digests


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]


def _places(digests: Mapping[str, str]) -> dict[str, str]:
    return {name.removesuffix(_PLACE): digest for name, digest in digests.items() if name.endswith(_PLACE)}


def with_digests(configuration: Section, digests: Mapping[str, str]) -> Section:
    """Return `configuration` with the digest as a third part of each reference in hooks that an update runs anew.

    Those are the queues' and `OnNodeUpdated`. The others never change, whatever is published, but with the bucket that
    it lies in: they get the digest of that.
    """
    places = _places(digests)
    scheduling = section_at(configuration, "Scheduling")
    login = section_at(configuration, "LoginNodes")
    queues = [_marked_below(queue, digests, "CustomActions") for queue in items_at(scheduling, "SlurmQueues")]
    pools = [_marked_lasting(pool, digests, places) for pool in items_at(login, "Pools")]
    head = section_at(configuration, "HeadNode")
    marked = {**configuration, "HeadNode": _marked_lasting(head, digests, places)} if head else configuration
    if queues:
        marked = {**marked, "Scheduling": {**scheduling, "SlurmQueues": queues}}
    return {**marked, "LoginNodes": {**login, "Pools": pools}} if pools else marked


def _marked_lasting(node: Section, digests: Mapping[str, str], places: Mapping[str, str]) -> Section:
    updated = _marked_below(node, digests, "CustomActions", "OnNodeUpdated")
    return _marked_below(updated, places, "CustomActions", "OnNodeConfigured")


def _marked_below(section: Section, digests: Mapping[str, str], *path: str) -> Section:
    """A copy of `section` with the references below `path` marked."""
    if not path:
        return cast("Section", _marked(section, digests))
    below = section_at(section, path[0])
    return {**section, path[0]: _marked_below(below, digests, *path[1:])} if below else section


def _marked(value: Any, digests: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        section = cast("Section", value)
        attribute = as_list(section.get("Fn::GetAtt"))
        if attribute and attribute[0] in digests:
            return {"Fn::GetAtt": [*attribute, digests[attribute[0]]]}
        return {name: _marked(item, digests) for name, item in section.items()}
    return [_marked(item, digests) for item in as_list(value)] if isinstance(value, list) else value
