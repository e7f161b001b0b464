"""Reads the files that the platform leaves on a node, and takes nothing in them for granted."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from llm_fleet_node.failures import Code, fail


@dataclass(frozen=True)
class Instance:
    """A node, as the platform lists it."""

    group: str
    name: str | None
    instance_id: str | None
    address: str | None
    instance_type: str | None = None
    topology: tuple[str, ...] = ()
    """Names of the network's nodes above it, the farthest first; empty where the platform tells none."""


@dataclass(frozen=True)
class ResourceConfig:
    """What `resource_config.json` says. Everything may be absent: `Instances` is null while nodes come up."""

    cluster_name: str | None
    controller_addresses: tuple[str, ...]
    instances: tuple[Instance, ...]


def read_object(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in `path`; `None` when there is no such file.

    Raises `Failure` when the file is there and cannot be understood, e.g. because it is cut off.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        fail(Code.PLATFORM_FILE, f"{path} cannot be read: {error.strerror}")
    except ValueError as error:
        fail(Code.PLATFORM_FILE, f"{path} is no JSON, perhaps cut off: {error}")
    if not isinstance(document, dict):
        fail(Code.PLATFORM_FILE, f"{path} is a JSON {type(document).__name__}, not an object")
    return cast("dict[str, Any]", document)


def read_resource_config(path: Path) -> ResourceConfig | None:
    """Return what `resource_config.json` says; `None` when there is none. Raises `Failure` as `read_object` does."""
    document = read_object(path)
    if document is None:
        return None
    cluster = _object(document, "ClusterConfig", path)
    slurm = _object(cluster, "SlurmConfig", path)
    primary = text(slurm, "PrimaryControllerIp", path)
    secondary = [item for item in items(slurm, "SecondaryControllerIps", path) if isinstance(item, str)]
    return ResourceConfig(
        cluster_name=text(cluster, "ClusterName", path),
        controller_addresses=tuple(([primary] if primary else []) + secondary),
        instances=tuple(
            instance for group in items(document, "InstanceGroups", path) for instance in _instances(group, path)
        ),
    )


def _instances(group: Any, path: Path) -> list[Instance]:
    if not isinstance(group, dict):
        fail(Code.PLATFORM_FILE, f"{path} lists an instance group that is no object")
    known = cast("dict[str, Any]", group)
    name = text(known, "Name", path)
    if not name:
        fail(Code.PLATFORM_FILE, f"{path} lists an instance group without a Name")
    found: list[Instance] = []
    for item in items(known, "Instances", path):
        if not isinstance(item, dict):
            fail(Code.PLATFORM_FILE, f"{path} lists an instance of {name} that is no object")
        entry = cast("dict[str, Any]", item)
        found.append(
            Instance(
                group=name,
                name=text(entry, "InstanceName", path),
                instance_id=text(entry, "InstanceId", path),
                address=text(entry, "CustomerIpAddress", path),
                instance_type=text(known, "InstanceType", path),
                topology=_topology(entry, path),
            )
        )
    return found


def _topology(entry: dict[str, Any], path: Path) -> tuple[str, ...]:
    """Return `InstanceLabel`'s `network-node-layer-1`, `-2`, `-3` as far as they are told."""
    label = _object(entry, "InstanceLabel", path)
    layers = [text(label, f"network-node-layer-{number}", path) for number in (1, 2, 3)]
    return tuple(layer for layer in layers if layer)


def text(holder: dict[str, Any], name: str, path: Path) -> str | None:
    """Return the text called `name`, `None` when it is absent, null or empty. Raises `Failure` for any other kind."""
    value = holder.get(name)
    if value is not None and not isinstance(value, str):
        fail(Code.PLATFORM_FILE, f"{path} has {name} of the kind {type(value).__name__}, not a text")
    return value or None


def items(holder: dict[str, Any], name: str, path: Path) -> list[Any]:
    """Return the list called `name`, empty when it is absent or null. Raises `Failure` for any other kind."""
    value = holder.get(name)
    if value is not None and not isinstance(value, list):
        fail(Code.PLATFORM_FILE, f"{path} has {name} of the kind {type(value).__name__}, not a list")
    return cast("list[Any]", value or [])


def _object(holder: dict[str, Any], name: str, path: Path) -> dict[str, Any]:
    value = holder.get(name)
    if value is not None and not isinstance(value, dict):
        fail(Code.PLATFORM_FILE, f"{path} has {name} of the kind {type(value).__name__}, not an object")
    return cast("dict[str, Any]", value or {})
