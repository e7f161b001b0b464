"""Changes of the configuration that nodes read when they start."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from llm_fleet.cli.plan.stack_templates import StackTemplate
from llm_fleet.cli.plan.template_changes import ResourceChange

_BUNDLE, _MANIFEST = "Custom::LlmFleetBundle", "Manifest"
_DERIVED = "content_hash"
"""Changes with every other part."""
_NAMES = {"mounts": "file systems", "package_version": "version of llm-fleet", "scripts_sha256": "scripts"}
"""Parts of the manifest whose keys are not those of the fleet file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedUid:
    """A user whose uid changes."""

    name: str
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeConfiguration:
    """The changed configuration of a cluster's nodes."""

    stack: str
    where: str
    """The construct path."""
    parts: tuple[str, ...]
    """The changed parts, e.g. `users`; empty if they are unknown before the deployment."""
    changed_uids: tuple[ChangedUid, ...] = ()


def node_configurations(
    deployed: Mapping[str, StackTemplate], planned: Sequence[StackTemplate], changes: Sequence[ResourceChange]
) -> Iterator[NodeConfiguration]:
    """Yield each changed configuration, from the templates `deployed`, by name, to those `planned`."""
    new = {stack.name: stack for stack in planned}
    for change in changes:
        if change.type != _BUNDLE or _MANIFEST not in change.properties:
            continue
        before, after = (
            _manifest(one.resources[change.logical_id]) for one in (deployed[change.stack], new[change.stack])
        )
        yield NodeConfiguration(
            stack=change.stack,
            where=change.where,
            parts=tuple(_NAMES.get(key, key) for key in _changed(before, after)),
            changed_uids=tuple(_changed_uids(before, after)),
        )


def _manifest(resource: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the manifest, each token as text; empty if it cannot be parsed."""
    written = resource.get("Properties", {}).get(_MANIFEST)
    if isinstance(written, Mapping):
        parts = cast("Mapping[str, Any]", written).get("Fn::Join", ["", []])[1]
        written = "".join(part if isinstance(part, str) else _as_text(part) for part in parts)
    try:
        found: object = json.loads(written) if isinstance(written, str) else {}
    except ValueError:
        return {}
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def _as_text(token: object) -> str:
    """Return a token in a form that can be a part of a JSON string."""
    return json.dumps(json.dumps(token, sort_keys=True))[1:-1]


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    if not before or not after:
        return []
    return sorted(key for key in {*before, *after} - {_DERIVED} if before.get(key) != after.get(key))


def _changed_uids(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[ChangedUid]:
    old = {user["name"]: user["uid"] for user in before.get("users", ())}
    for user in after.get("users", ()):
        uid = old.get(user["name"], user["uid"])
        if uid != user["uid"]:
            yield ChangedUid(name=user["name"], before=uid, after=user["uid"])
