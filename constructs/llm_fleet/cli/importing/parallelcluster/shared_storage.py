"""Turns the shared storage of a ParallelCluster configuration into that of a fleet file."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from llm_fleet.cli.importing.parallelcluster.lustre import fleet_lustre
from llm_fleet.cli.importing.parallelcluster.section import Section
from llm_fleet.cli.importing.parallelcluster.values import told
from llm_fleet.config.parallelcluster.view import FSX

_SECTIONS = {
    "Ebs": ("EbsSettings", "VolumeId"),
    "Efs": ("EfsSettings", "FileSystemId"),
    "FsxLustre": ("FsxLustreSettings", "FileSystemId"),
    "FsxOpenZfs": ("FsxOpenZfsSettings", "VolumeId"),
    "FsxOntap": ("FsxOntapSettings", "VolumeId"),
    "FileCache": ("FileCacheSettings", "FileCacheId"),
}
"""By type: its section, and the key of the id in it."""


@dataclass(slots=True)
class Storages:
    """What becomes of the shared storage."""

    fleet: dict[str, Any] = field(default_factory=dict[str, Any])
    """Keys of the fleet's `storage`."""
    cluster: dict[str, Any] = field(default_factory=dict[str, Any])
    """Keys of the cluster's `storage`."""


def shared_storage(sections: Iterable[Section]) -> Storages:
    """Return the storages: the first Lustre that ParallelCluster would make becomes the fleet's, which outlives it."""
    told_of = Storages()
    named = [(section, str(section.take("Name"))) for section in sections]
    for section, name in named:
        kind, mount = section.take("StorageType"), section.take("MountDir")
        settings_key, id_key = _SECTIONS.get(str(kind), ("", ""))
        id = section.take(f"{settings_key}/{id_key}") if settings_key else None
        settings: Any = section.take(settings_key) if settings_key else None
        settings = {} if settings is None else settings
        is_taken = any(other == FSX for each, other in named if each is not section)
        if kind == "FsxLustre" and id is None and FSX not in told_of.fleet and not is_taken:
            lustre = fleet_lustre(settings, mount, section)
            if lustre is not None:
                told_of.fleet[FSX] = lustre
                section.leave_rest(f"a storage of type {kind} does not have it")
                continue
        section.leave_rest(f"a storage of type {kind} does not have it")
        path = mount if not isinstance(mount, str) or mount.startswith("/") else f"/{mount}"
        entry = told(type=kind, mount=path, id=id, settings=settings)
        told_of.cluster[name] = entry
        if id is None and "DeletionPolicy" not in settings:
            section.notes.chosen(f"{section.where} is kept when the cluster goes: it has no DeletionPolicy")
    return told_of
