"""The file systems that a fleet file describes, made or imported."""

from collections.abc import Mapping

from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.config.storage import FleetLustre, FleetOpenZfs
from llm_fleet.network.network import Network
from llm_fleet.spec.lustre import DataRepository, LustreDeploymentType, LustreSpec
from llm_fleet.spec.open_zfs import OpenZfsSpec
from llm_fleet.storage.file_systems import MountableLustre, MountableOpenZfs
from llm_fleet.storage.lustre import LustreFileSystem
from llm_fleet.storage.open_zfs import OpenZfsFileSystem, OpenZfsVolume

_TAKES_A_KEY = (LustreDeploymentType.PERSISTENT_1, LustreDeploymentType.PERSISTENT_2)


def lustre_from(
    scope: Construct,
    config: FleetLustre | None,
    *,
    network: Network | None,
    key: kms.IKey,
    buckets: Mapping[str, s3.IBucket],
) -> MountableLustre | None:
    """Return the Lustre file system of `config`, encrypted with `key` unless it names another; `None` without one.

    A link to one of `buckets`, the fleet's own by name, waits for it and may use its key.
    """
    if config is None or network is None:  # the fleet file has been refused if there is one without the other
        return None
    if config.existing:
        return LustreFileSystem.from_attributes(scope, "Lustre", config.existing)
    takes_key = config.deployment_type in _TAKES_A_KEY
    spec = config.narrowed(LustreSpec, encryption_key=config.encryption_key or (key if takes_key else None))
    file_system = LustreFileSystem(scope, "Lustre", spec, network=network)
    for index, repository in enumerate(config.repositories):
        file_system.add_data_repository(f"Repository{index}", _of_own_bucket(repository, buckets))
    return file_system


def _of_own_bucket(repository: DataRepository, buckets: Mapping[str, s3.IBucket]) -> DataRepository:
    """Return `repository` with the bucket itself where it is one of `buckets`."""
    name, _, prefix = repository.data_repository_path.removeprefix("s3://").partition("/")
    own = buckets.get(name)
    return repository if own is None else repository.narrowed(DataRepository, s3=own, prefix=prefix)


def open_zfs_from(
    scope: Construct, config: FleetOpenZfs | None, *, network: Network | None, key: kms.IKey
) -> MountableOpenZfs | None:
    """Return the OpenZFS file system of `config`, encrypted with `key` unless it names another; `None` without one."""
    if config is None or network is None:
        return None
    if config.existing:
        return OpenZfsFileSystem.from_attributes(scope, "Home", config.existing)
    spec = config.narrowed(OpenZfsSpec, encryption_key=config.encryption_key or key)
    return OpenZfsFileSystem(scope, "Home", spec, network=network)


def volumes_from(file_system: MountableOpenZfs | None, config: FleetOpenZfs | None) -> dict[str, OpenZfsVolume]:
    """Return the volumes that `config` asks for beside the home directories, made on `file_system`, by name."""
    if config is None or not isinstance(file_system, OpenZfsFileSystem):
        return {}
    return {name: file_system.add_volume(f"Volume-{name}", volume) for name, volume in config.volumes.items()}
