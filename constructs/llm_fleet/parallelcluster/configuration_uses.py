"""What a configuration makes use of outside of itself: objects, keys, secrets, file systems. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from llm_fleet.rules.tokens import is_unresolved

_SCRIPT_KEYS = ("Script", "CustomSlurmSettingsIncludeFile")
_REPOSITORY_KEYS = ("DataRepositoryPath", "ExportPath", "ImportPath")
_FSX_KINDS = ("FsxLustre", "FsxOpenZfs", "FsxOntap", "FileCache")


def s3_objects(section: Any) -> list[str]:
    """Return the `s3://` URIs of scripts and included files in `section`, each once; those that are tokens left out."""
    found = (
        value
        for key, value in _items(section)
        if key in _SCRIPT_KEYS and isinstance(value, str) and value.startswith("s3://") and not is_unresolved(value)
    )
    return list(dict.fromkeys(found))


def storage_keys(configuration: Mapping[str, Any]) -> list[str]:
    """Return the KMS keys of the shared storage that ParallelCluster makes, as they are written: id, ARN or alias."""
    storages = configuration.get("SharedStorage", ())
    return list(dict.fromkeys(str(value) for key, value in _items(storages) if key == "KmsKeyId"))


def linked_buckets(configuration: Mapping[str, Any]) -> list[str]:
    """Return the buckets that file systems made by ParallelCluster are linked to, each once; tokens left out."""
    paths = [str(value) for key, value in _items(configuration.get("SharedStorage", ())) if key in _REPOSITORY_KEYS]
    known = [path for path in paths if path.startswith("s3://") and not is_unresolved(path)]
    return list(dict.fromkeys(path.removeprefix("s3://").split("/")[0] for path in known))


def has_existing_fsx(configuration: Mapping[str, Any]) -> bool:
    """Return whether the cluster mounts an FSx file system, or cache, that exists."""
    storages = configuration.get("SharedStorage", ())
    ids = ("FileSystemId", "VolumeId", "FileCacheId")
    return any(
        storage.get("StorageType") in _FSX_KINDS and any(key in ids for key, _ in _items(storage))
        for storage in storages
    )


def directory_password(configuration: Mapping[str, Any]) -> str | None:
    """Return the ARN of the secret or parameter with the password of the directory's reader."""
    arn = configuration.get("DirectoryService", {}).get("PasswordSecretArn")
    return None if arn is None else str(arn)


def _items(section: Any) -> Iterator[tuple[str, Any]]:
    """Yield every key with its value, however deep."""
    if isinstance(section, Mapping):
        for key, value in cast("Mapping[str, Any]", section).items():
            yield key, value
            yield from _items(value)
    elif isinstance(section, Sequence) and not isinstance(section, str):
        for value in cast("Sequence[Any]", section):
            yield from _items(value)
