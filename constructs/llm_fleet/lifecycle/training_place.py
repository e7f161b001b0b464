"""What a node manifest says of the cluster that a training runtime is for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from llm_fleet.lifecycle.downloads import Downloads
from llm_fleet.named_files.lock_file import lock_problems, locked_files
from llm_fleet.rules.manifest_protocols import ManifestLike
from llm_fleet.rules.terms import NodeType
from llm_fleet.rules.training.place import SharedFolder, TrainingGroup, TrainingPlace


class Told(ManifestLike, Protocol):
    """A manifest, with what only training asks of it."""

    @property
    def region(self) -> str:
        """Region of the cluster; may be a token."""
        ...

    @property
    def downloads(self) -> Downloads:
        """What nodes may fetch."""
        ...

    @property
    def shared_folders(self) -> Sequence[SharedFolder]:
        """Further file systems that all nodes share."""
        ...


def training_place(manifest: Told) -> TrainingPlace:
    """Return the place that `manifest` tells of; whether nodes reach the internet, and their system, it does not."""
    return TrainingPlace(
        groups=[_group(group.name, group.role, group.instance_types, manifest) for group in manifest.groups],
        shared=[
            *(SharedFolder(kind=mount.kind, path=mount.mount_path) for mount in manifest.mounts),
            *manifest.shared_folders,
        ],
        region=manifest.region,
        neuron_release=manifest.neuron.release if manifest.neuron is not None else None,
        source=manifest.downloads.source,
        files=files_of(manifest.downloads.lock),
    )


def files_of(lock: Path | None) -> list[dict[str, Any]] | None:
    """Return the files of `lock`; none without one, and `None` of one with a mistake, which is told elsewhere."""
    if lock is None:
        return []
    return None if lock_problems(lock) else locked_files(lock)


def _group(name: str, role: NodeType, instance_types: Sequence[str], manifest: Told) -> TrainingGroup:
    mounting = [mount.mount_path for mount in manifest.mounts if mount.groups is None or name in mount.groups]
    return TrainingGroup(
        name=name,
        role=role,
        instance_types=instance_types,
        mounts=frozenset([*mounting, *(folder.path for folder in manifest.shared_folders)]),
    )
