"""A shared storage in ParallelCluster's configuration."""

from typing import Any

from llm_fleet.rules.parallelcluster.storage_sections import STORAGE_SECTIONS
from llm_fleet.spec.parallelcluster import SharedStorage


def render_storage(storage: SharedStorage) -> dict[str, Any]:
    """Return one of `SharedStorage`."""
    place = STORAGE_SECTIONS[storage.kind]
    existing = {} if storage.existing_id is None else {place.id_key: storage.existing_id}
    settings = {**existing, **storage.section}
    return {
        "MountDir": storage.mount_dir,
        "Name": storage.name,
        "StorageType": storage.kind.value,
        **({place.section: settings} if settings else {}),
    }
