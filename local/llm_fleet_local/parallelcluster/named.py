"""Reads AWS resources from a configuration in YAML, so a configuration that the loader rejects can also be read.

The oracle's process and the AWS emulator both use it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each scalar with its path of keys, without positions in lists."""
    if isinstance(value, Mapping):
        for key, item in cast("Mapping[str, Any]", value).items():
            yield from leaves(item, (*path, str(key)))
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from leaves(item, path)
    elif value is not None:
        yield path, value


def values(configuration: Mapping[str, Any], *keys: str, under: str | None = None) -> list[str]:
    """Return the distinct texts at any of these keys, in order; with `under`, only in this section."""
    found = {
        str(value): None
        for path, value in leaves(configuration)
        if path and path[-1] in keys and (under is None or under in path[:-1])
    }
    return list(found)


def s3_uris(configuration: Mapping[str, Any]) -> list[str]:
    """Return the distinct texts that are S3 URIs, in order."""
    texts = [value for _, value in leaves(configuration)]
    return list(dict.fromkeys(text for text in texts if isinstance(text, str) and text.startswith("s3://")))


def queues(configuration: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the queues."""
    return _dicts(section(configuration, "Scheduling").get("SlurmQueues"))


def compute_resources(queue: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the compute resources of a queue."""
    return _dicts(queue.get("ComputeResources"))


def login_pools(configuration: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the pools of login nodes."""
    return _dicts(section(configuration, "LoginNodes").get("Pools"))


def shared_storages(configuration: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the shared storage."""
    return _dicts(configuration.get("SharedStorage"))


def shared_storage(configuration: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the settings of the shared storage of a kind, e.g. `Efs`."""
    return [
        one.get(f"{kind}Settings") or {} for one in shared_storages(configuration) if one.get("StorageType") == kind
    ]


def instance_types(resource: Mapping[str, Any]) -> list[str]:
    """Return the instance types of a compute resource."""
    return values(resource, "InstanceType")


def section(configuration: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Return a section by its path of keys; empty if it is missing."""
    found: Any = configuration
    for key in keys:
        inner = cast("Mapping[str, Any]", found).get(key)
        found = cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) else {}
    return found


def _dicts(value: Any) -> list[dict[str, Any]]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", one) for one in items if isinstance(one, dict)]
