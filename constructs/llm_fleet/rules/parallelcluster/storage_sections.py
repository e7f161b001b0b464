"""Where ParallelCluster's configuration keeps the settings of each kind of storage, and the id of one that exists."""

from dataclasses import dataclass

from llm_fleet.rules.parallelcluster.terms import StorageKind


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSection:
    """The section of a kind, e.g. `FsxLustreSettings`."""

    section: str
    id_key: str


STORAGE_SECTIONS = {
    StorageKind.EBS: StorageSection(section="EbsSettings", id_key="VolumeId"),
    StorageKind.EFS: StorageSection(section="EfsSettings", id_key="FileSystemId"),
    StorageKind.FSX_LUSTRE: StorageSection(section="FsxLustreSettings", id_key="FileSystemId"),
    StorageKind.FSX_OPEN_ZFS: StorageSection(section="FsxOpenZfsSettings", id_key="VolumeId"),
    StorageKind.FSX_ONTAP: StorageSection(section="FsxOntapSettings", id_key="VolumeId"),
    StorageKind.FILE_CACHE: StorageSection(section="FileCacheSettings", id_key="FileCacheId"),
}
