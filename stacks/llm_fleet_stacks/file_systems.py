"""The file systems that a fleet file describes, made or imported."""

from collections.abc import Mapping
from dataclasses import asdict

from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.config.fsx import FsxConfig
from llm_fleet.config.home import HomeConfig
from llm_fleet.network.network import Network
from llm_fleet.rules.terms import LustreDeploymentType
from llm_fleet.storage.lustre_file_system import LustreFileSystem
from llm_fleet.storage.mountable import MountableLustre, MountableOpenZfs
from llm_fleet.storage.open_zfs_file_system import OpenZfsFileSystem
from llm_fleet.storage.open_zfs_volume import OpenZfsVolume
from llm_fleet_stacks.imported import imported_key, imported_log_group, imported_security_group

_TAKES_A_KEY = (LustreDeploymentType.PERSISTENT_1, LustreDeploymentType.PERSISTENT_2)


def lustre_from(
    scope: Construct,
    config: FsxConfig | None,
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
    if existing := config.existing:
        return LustreFileSystem.from_attributes(
            scope,
            "Lustre",
            file_system_id=existing.file_system_id,
            dns_name=existing.dns_name,
            mount_name=existing.mount_name,
            availability_zone_id=existing.availability_zone_id,
            efa_enabled=existing.efa_enabled,
            security_group=imported_security_group(scope, "LustreSecurityGroup", existing.security_group_id),
        )
    settings = asdict(config.settings)
    for seen_by_the_construct in ("own_key", "region"):
        del settings[seen_by_the_construct]
    own_key = imported_key(scope, "LustreKey", config.kms_key_arn)
    file_system = LustreFileSystem(
        scope,
        "Lustre",
        network=network,
        availability_zone_id=config.availability_zone_id,
        encryption_key=own_key or (key if config.deployment_type in _TAKES_A_KEY else None),
        log_level=config.log_level,
        log_group=imported_log_group(scope, "LustreLogs", config.log_group),
        **settings,
    )
    for index, repository in enumerate(config.repositories):
        name, _, prefix = repository.data_repository_path.removeprefix("s3://").partition("/")
        own = buckets.get(name)
        file_system.add_data_repository(
            f"Repository{index}",
            file_system_path=repository.file_system_path,
            bucket=own,
            prefix=prefix if own else "",
            data_repository_path=None if own else repository.data_repository_path,
            auto_import=repository.auto_import,
            auto_export=repository.auto_export,
            import_existing=repository.import_existing,
        )
    return file_system


def open_zfs_from(
    scope: Construct, config: HomeConfig | None, *, network: Network | None, key: kms.IKey
) -> MountableOpenZfs | None:
    """Return the OpenZFS file system of `config`, encrypted with `key` unless it names another; `None` without one."""
    if config is None or network is None:
        return None
    if existing := config.existing:
        return OpenZfsFileSystem.from_attributes(
            scope,
            "Home",
            file_system_id=existing.file_system_id,
            dns_name=existing.dns_name,
            volume_id=existing.volume_id,
            availability_zone_id=existing.availability_zone_id,
            security_group=imported_security_group(scope, "HomeSecurityGroup", existing.security_group_id),
        )
    return OpenZfsFileSystem(
        scope,
        "Home",
        network=network,
        availability_zone_id=config.availability_zone_id,
        encryption_key=imported_key(scope, "HomeKey", config.kms_key_arn) or key,
        **asdict(config.settings),
    )


def volumes_from(file_system: MountableOpenZfs | None, config: HomeConfig | None) -> dict[str, OpenZfsVolume]:
    """Return the volumes that `config` asks for beside the home directories, made on `file_system`, by name."""
    if config is None or not isinstance(file_system, OpenZfsFileSystem):
        return {}
    return {
        name: file_system.add_volume(f"Volume-{name}", volume_name=name, quota_gib=volume.quota_gib)
        for name, volume in config.volumes.items()
    }
