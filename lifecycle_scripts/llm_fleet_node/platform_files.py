"""Reads the platform's files on a node, and checks their content."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from llm_fleet_node.failures import Code, fail


@dataclass(frozen=True)
class Instance:
    """A node in the platform's list."""

    group: str
    name: str | None
    instance_id: str | None
    address: str | None
    instance_type: str | None = None
    topology: tuple[str, ...] = ()
    """Names of the network nodes above it, the top layer first; empty if the platform lists none."""


@dataclass(frozen=True)
class ResourceConfig:
    """The content of `resource_config.json`. Everything can be missing: `Instances` is null while nodes start."""

    cluster_name: str | None
    controller_addresses: tuple[str, ...]
    instances: tuple[Instance, ...]


def read_object(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in `path`; `None` if there is no such file.

    Raises `Failure` if the file exists but is not valid, e.g. because it is incomplete.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        fail(Code.PLATFORM_FILE, f"{path} cannot be read: {error.strerror}")
    except ValueError as error:
        fail(Code.PLATFORM_FILE, f"{path} is not valid JSON, perhaps incomplete: {error}")
    if not isinstance(document, dict):
        fail(Code.PLATFORM_FILE, f"{path} is a JSON {type(document).__name__}, not an object")
    return cast("dict[str, Any]", document)


def read_resource_config(path: Path) -> ResourceConfig | None:
    """Return the content of `resource_config.json`; `None` if it is missing. Raises `Failure` as `read_object` does."""
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
        fail(Code.PLATFORM_FILE, f"{path} lists an instance group that is not an object")
    known = cast("dict[str, Any]", group)
    name = text(known, "Name", path)
    if not name:
        fail(Code.PLATFORM_FILE, f"{path} lists an instance group without a Name")
    found: list[Instance] = []
    for item in items(known, "Instances", path):
        if not isinstance(item, dict):
            fail(Code.PLATFORM_FILE, f"{path} lists an instance of {name} that is not an object")
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
    """Return `InstanceLabel`'s `network-node-layer-1`, `-2`, `-3`, as far as they exist."""
    label = _object(entry, "InstanceLabel", path)
    layers = [text(label, f"network-node-layer-{number}", path) for number in (1, 2, 3)]
    return tuple(layer for layer in layers if layer)


def text(holder: dict[str, Any], name: str, path: Path) -> str | None:
    """Return the string `name`; `None` if it is missing, null or empty. Raises `Failure` for another type."""
    value = holder.get(name)
    if value is not None and not isinstance(value, str):
        fail(Code.PLATFORM_FILE, f"{path} has {name} of type {type(value).__name__}, not a string")
    return value or None


def items(holder: dict[str, Any], name: str, path: Path) -> list[Any]:
    """Return the list `name`; empty if it is missing or null. Raises `Failure` for another type."""
    value = holder.get(name)
    if value is not None and not isinstance(value, list):
        fail(Code.PLATFORM_FILE, f"{path} has {name} of type {type(value).__name__}, not a list")
    return cast("list[Any]", value or [])


def _object(holder: dict[str, Any], name: str, path: Path) -> dict[str, Any]:
    value = holder.get(name)
    if value is not None and not isinstance(value, dict):
        fail(Code.PLATFORM_FILE, f"{path} has {name} of type {type(value).__name__}, not an object")
    return cast("dict[str, Any]", value or {})
