"""A file system of a ParallelCluster beside those of the fleet."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from llm_fleet.rules.parallelcluster.terms import StorageKind
from llm_fleet.spec.model import NamedModel


class SharedStorageConfig(NamedModel):
    """A file system that all nodes mount, beside the fleet's `fsx` and `home`. Its key is its name."""

    other_words: ClassVar[Mapping[str, str]] = {
        "MountDir": "write `mount`",
        "StorageType": "write `type`",
        "Name": "write the name as the key, in front of its colon",
        **dict.fromkeys(("FileSystemId", "VolumeId", "FileCacheId"), "write `id`"),
        **{f"{kind.value}Settings": "write `settings`" for kind in StorageKind},
    }

    kind: StorageKind = Field(alias="type", examples=["Ebs"])
    """What it is. `Ebs` is a volume that the head node exports; the others are services of their own."""
    mount_dir: str = Field(alias="mount", examples=["/apps"])
    """Where nodes mount it."""
    existing_id: str | None = Field(default=None, alias="id")
    """Id of one that exists: of a file system, a volume or a cache. Default: ParallelCluster makes one."""
    own_settings: Mapping[str, Any] = Field(default={}, alias="settings")
    """What it is made like, in ParallelCluster's own keys of this type, e.g. `{Size: 200}`.

    Default: its own defaults; but encrypted, and kept when the cluster goes."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """As written; what ParallelCluster makes is encrypted and kept unless the file says otherwise."""
        if self.existing_id is not None:
            return self.own_settings
        return {**_KEPT.get(self.kind, {}), **self.own_settings}


_KEPT: Mapping[StorageKind, Mapping[str, Any]] = {
    StorageKind.EBS: {"Encrypted": True, "DeletionPolicy": "Retain"},
    StorageKind.EFS: {"Encrypted": True, "EncryptionInTransit": True, "DeletionPolicy": "Retain"},
    StorageKind.FSX_LUSTRE: {"DeletionPolicy": "Retain"},
}
"""By what ParallelCluster can make; FSx encrypts by itself."""
