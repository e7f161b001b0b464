"""Reads `fleet.json` and makes sure that it can be believed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.schema import violations

NAME = "fleet.json"
SCHEMA = "fleet.schema.json"
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Group:
    """One instance group."""

    name: str
    role: str
    hook: str | None
    partition: str | None
    instance_types: tuple[str, ...]


@dataclass(frozen=True)
class Manifest:
    """What this node is told of its fleet, as far as start needs it."""

    fleet: str
    cluster: str | None
    region: str
    content_hash: str
    scripts_sha256: str
    groups: tuple[Group, ...]

    def group(self, name: str) -> Group | None:
        """Return the group called `name`."""
        return next((group for group in self.groups if group.name == name), None)


def read(bundle: Path) -> Manifest:
    """Return the manifest in the folder `bundle`. Raises `Failure` when it is missing, broken or newer."""
    try:
        text = (bundle / NAME).read_text(encoding="utf-8")
    except OSError as error:
        fail(Code.MANIFEST_MISSING, f"{bundle / NAME} cannot be read: {error.strerror}")
    except UnicodeDecodeError as error:
        fail(Code.MANIFEST_INVALID, f"{bundle / NAME} is no text: {error}")
    try:
        document = json.loads(text)
    except ValueError as error:
        fail(Code.MANIFEST_INVALID, f"{bundle / NAME} is no JSON: {error}")
    check(document, json.loads((bundle / SCHEMA).read_text(encoding="utf-8")))
    return _manifest(document)


def check(document: Any, schema: dict[str, Any]) -> None:
    """Raise `Failure` when `document` is not what `schema` describes."""
    version = cast("dict[str, Any]", document).get("schema_version") if isinstance(document, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        fail(Code.MANIFEST_NEWER, f"{NAME} is of schema version {version}, these scripts know {SCHEMA_VERSION}")
    found = list(violations(document, schema, schema))
    if not found:
        return
    roles = [f"{where} {what}" for where, what in found if where.startswith("groups[") and where.endswith("].role")]
    if roles:
        fail(Code.ROLE_UNKNOWN, f"{NAME}: {'; '.join(roles)}")
    fail(Code.MANIFEST_INVALID, f"{NAME}: " + "; ".join(f"{where or 'the whole'} {what}" for where, what in found))


def _manifest(document: dict[str, Any]) -> Manifest:
    groups = tuple(
        Group(
            name=group["name"],
            role=group["role"],
            hook=group["hook"],
            partition=group["partition"],
            instance_types=tuple(kind["name"] for kind in group["instance_types"]),
        )
        for group in document["groups"]
    )
    plain = {name: document[name] for name in ("fleet", "cluster", "region", "content_hash", "scripts_sha256")}
    return Manifest(groups=groups, **plain)
