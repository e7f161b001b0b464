"""Reads and validates `fleet.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, TypeVar, cast

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.manifest_parts import (
    Accounting,
    CompileCache,
    Download,
    Downloads,
    EfaSystem,
    Environment,
    Fabric,
    Group,
    InstanceType,
    Metrics,
    Mount,
    Neuron,
    NeuronAlternative,
    OwnStep,
    Package,
    PackageEdge,
    Reports,
    S3Mount,
    Steps,
    Training,
    User,
    Variable,
)
from llm_fleet_node.people_parts import Directory, SlurmAccounts
from llm_fleet_node.schema import violations

NAME = "fleet.json"
SCHEMA = "fleet.schema.json"
SCHEMA_VERSION = 1

_NESTED: dict[str, type[Any]] = {
    "instance_types": InstanceType,
    "packages": Package,
    "compatibility": PackageEdge,
    "alternatives": NeuronAlternative,
    "files": Download,
    "efa_systems": EfaSystem,
    "own": OwnStep,
    "environments": Environment,
    "fabrics": Fabric,
    "variables": Variable,
}
"""Keys of a part that have a list of other parts."""
_INNER: dict[str, type[Any]] = {"compile_cache": CompileCache}
"""Keys of a part that have another part or null."""

Part = TypeVar("Part")


@dataclass(frozen=True)
class Manifest:
    """The node's view of its fleet: `fleet.json`."""

    fleet: str
    cluster: str | None
    region: str
    content_hash: str
    scripts_sha256: str
    platform: str
    """`hyperpod` or `parallelcluster`."""
    groups: tuple[Group, ...]
    mounts: tuple[Mount, ...]
    s3_mounts: tuple[S3Mount, ...]
    accounting: Optional[Accounting]
    users: tuple[User, ...]
    neuron: Optional[Neuron]
    training: Optional[Training]
    downloads: Downloads
    reports: Optional[Reports]
    steps: Steps
    slurm_accounts: Optional[SlurmAccounts] = None
    """Slurm accounts and their limits, if the fleet has any."""
    directory: Optional[Directory] = None
    """A directory with more users."""
    metrics: Optional[Metrics] = None

    def group(self, name: str) -> Group | None:
        """Return the group called `name`."""
        return next((group for group in self.groups if group.name == name), None)


def read(bundle: Path) -> Manifest:
    """Return the manifest in the folder `bundle`. Raises `Failure` if it is missing, not valid or newer."""
    try:
        text = (bundle / NAME).read_text(encoding="utf-8")
    except OSError as error:
        fail(Code.MANIFEST_MISSING, f"{bundle / NAME} cannot be read: {error.strerror}")
    except UnicodeDecodeError as error:
        fail(Code.MANIFEST_INVALID, f"{bundle / NAME} is not UTF-8: {error}")
    try:
        document = json.loads(text)
    except ValueError as error:
        fail(Code.MANIFEST_INVALID, f"{bundle / NAME} is not valid JSON: {error}")
    check(document, json.loads((bundle / SCHEMA).read_text(encoding="utf-8")))
    return _manifest(document)


def check(document: Any, schema: dict[str, Any]) -> None:
    """Raise `Failure` if `document` does not match `schema`."""
    version = cast("dict[str, Any]", document).get("schema_version") if isinstance(document, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        fail(Code.MANIFEST_NEWER, f"{NAME} has schema version {version}, but these scripts support {SCHEMA_VERSION}")
    found = list(violations(document, schema, schema))
    if not found:
        return
    roles = [f"{where} {what}" for where, what in found if where.startswith("groups[") and where.endswith("].role")]
    if roles:
        fail(Code.ROLE_UNKNOWN, f"{NAME}: {'; '.join(roles)}")
    fail(Code.MANIFEST_INVALID, f"{NAME}: " + "; ".join(f"{where or 'the document'} {what}" for where, what in found))


def _manifest(document: dict[str, Any]) -> Manifest:
    plain = ("fleet", "cluster", "region", "content_hash", "scripts_sha256", "platform")
    return Manifest(
        groups=_all(Group, document["groups"]),
        mounts=_all(Mount, document["mounts"]),
        s3_mounts=_all(S3Mount, document["s3_mounts"]),
        accounting=_one(Accounting, document["accounting"]),
        users=_all(User, document["users"]),
        neuron=_one(Neuron, document["neuron"]),
        training=_one(Training, document["training"]),
        downloads=_part(Downloads, document["downloads"]),
        reports=_one(Reports, document["reports"]),
        steps=_part(Steps, document["steps"]),
        slurm_accounts=SlurmAccounts.of(document.get("slurm_accounts")),
        directory=Directory.of(document.get("directory")),
        metrics=_one(Metrics, document.get("metrics")),
        **{name: document[name] for name in plain},
    )


def _part(kind: type[Part], given: dict[str, Any]) -> Part:
    """Return `given` as a `kind`: the schema has checked names and types."""
    made = {name: _nested(name, value) for name, value in given.items()}
    return kind(**made)


def _nested(name: str, value: Any) -> Any:
    if name in _INNER:
        return _one(_INNER[name], value)
    if not isinstance(value, list):
        return value
    listed = cast("list[Any]", value)
    return _all(_NESTED[name], listed) if name in _NESTED else tuple(listed)


def _all(kind: type[Part], given: list[dict[str, Any]]) -> tuple[Part, ...]:
    return tuple(_part(kind, item) for item in given)


def _one(kind: type[Part], given: dict[str, Any] | None) -> Part | None:
    return None if given is None else _part(kind, given)
