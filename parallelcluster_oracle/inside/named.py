"""What a configuration names of AWS: it is read as YAML, so that also one that the loader refuses can be read."""

from collections.abc import Iterator
from typing import Any


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each scalar with the keys that lead to it; positions in lists are left out."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, str(key)))
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item, path)
    elif value is not None:
        yield path, value


def values(configuration: dict[str, Any], *keys: str, under: str | None = None) -> list[str]:
    """Return the distinct texts at any of these keys, in order; `under` asks for the section around the key."""
    found = {
        str(value): None
        for path, value in leaves(configuration)
        if path and path[-1] in keys and (under is None or under in path[:-1])
    }
    return list(found)


def queues(configuration: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the queues."""
    return _dicts((configuration.get("Scheduling") or {}).get("SlurmQueues"))


def compute_resources(queue: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the compute resources of a queue."""
    return _dicts(queue.get("ComputeResources"))


def shared_storage(configuration: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the settings of the shared storage of a kind, e.g. `Efs`."""
    storages = _dicts(configuration.get("SharedStorage"))
    return [one.get(f"{kind}Settings") or {} for one in storages if one.get("StorageType") == kind]


def instance_types(resource: dict[str, Any]) -> list[str]:
    """Return the instance types of a compute resource."""
    return values({"Here": resource}, "InstanceType")


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value or [] if isinstance(one, dict)] if isinstance(value, list) else []
