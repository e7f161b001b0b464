"""Which file systems a cluster, a Studio domain or a notebook mounts, and where."""

from collections.abc import Iterator, Mapping
from typing import Any

from llm_fleet.cli.plan.picture.cluster_things import HYPERPOD, PARALLELCLUSTER
from llm_fleet.cli.plan.picture.resource import Resource
from llm_fleet.cli.plan.picture.storage_things import FILE_SYSTEM
from llm_fleet.cli.plan.picture.view import View

Mount = tuple[str, str]
"""Key of a file system, or the id of one that exists already; and the path."""


def mounts_of(view: View, resource: Resource) -> list[Mount]:
    """Return what `resource` mounts, each once."""
    if resource.type == HYPERPOD:
        found = _hyperpod(view, resource)
    elif resource.type == PARALLELCLUSTER:
        found = _parallelcluster(view, resource)
    else:
        found = ((one.key, "") for one in view.named(resource, resource.properties, FILE_SYSTEM))
    return list(dict.fromkeys(found))


def _hyperpod(view: View, cluster: Resource) -> Iterator[Mount]:
    for group in cluster.properties.get("InstanceGroups", ()):
        for storage in group.get("InstanceStorageConfigs", ()):
            told = storage.get("FsxLustreConfig") or storage.get("FsxOpenZfsConfig")
            if told:
                yield from _file_systems(view, cluster, told.get("DnsName"), told)


def _parallelcluster(view: View, cluster: Resource) -> Iterator[Mount]:
    for storage in cluster.properties["ClusterConfiguration"].get("SharedStorage", ()):
        told = next((value for name, value in storage.items() if name.startswith("Fsx")), None)
        if told:
            yield from _file_systems(view, cluster, told.get("FileSystemId") or told.get("VolumeId"), storage)


def _file_systems(view: View, cluster: Resource, named: Any, told: Mapping[str, Any]) -> Iterator[Mount]:
    path = str(told.get("MountPath") or told.get("MountDir") or "")
    made = view.named(cluster, named, FILE_SYSTEM)
    # A volume belongs to its file system.
    for volume in view.named(cluster, named, "AWS::FSx::Volume"):
        made += view.named(volume, volume.properties, FILE_SYSTEM)
    for system in made:
        yield system.key, path
    if isinstance(named, str):
        yield named.partition(".")[0], path
