"""Says a file system's settings in CloudFormation's words."""

from aws_cdk import aws_fsx as fsx

from llm_fleet.catalog.lustre import lustre_limits
from llm_fleet.rules.lustre_settings import LustreSettings


def lustre_configuration(
    settings: LustreSettings, *, log: fsx.CfnFileSystem.LogConfigurationProperty | None
) -> fsx.CfnFileSystem.LustreConfigurationProperty:
    """Return the Lustre half of an `AWS::FSx::FileSystem`, with every default decided.

    What a deployment type does not know is left out: the service refuses even its `NONE`. `CopyTagsToBackups` is there
    only where it was asked for: a file system that is linked to S3 must not have it, and CloudFormation replaces the
    file system when it changes, so that one that had it by default could not be linked later without losing its data.
    """
    variant = settings.variant
    days = settings.effective_backup_retention_days
    backups = variant is not None and variant.backups
    return fsx.CfnFileSystem.LustreConfigurationProperty(
        deployment_type=settings.deployment_type,
        per_unit_storage_throughput=settings.effective_throughput,
        throughput_capacity=settings.effective_throughput_capacity,
        data_compression_type=settings.compression,
        drive_cache_type=(settings.drive_cache or "READ") if variant and variant.drive_cache else None,
        data_read_cache_configuration=_read_cache(settings),
        metadata_configuration=_metadata(settings),
        efa_enabled=settings.effective_efa if variant and variant.efa else None,
        automatic_backup_retention_days=days if backups else None,
        daily_automatic_backup_start_time=settings.backup_start_time if days else None,
        copy_tags_to_backups=(settings.copy_tags_to_backups or None) if backups else None,
        weekly_maintenance_start_time=settings.maintenance_start_time,
        log_configuration=log,
    )


def _metadata(settings: LustreSettings) -> fsx.CfnFileSystem.MetadataConfigurationProperty | None:
    """Always set where it exists: EFA needs it, and it cannot be added to a file system that was made without."""
    variant = settings.variant
    if variant is None or variant.metadata_iops is None or settings.version != lustre_limits().metadata_version:
        return None
    iops = settings.metadata_iops
    if iops is None and variant.metadata_automatic:
        return fsx.CfnFileSystem.MetadataConfigurationProperty(mode="AUTOMATIC")
    return fsx.CfnFileSystem.MetadataConfigurationProperty(
        mode="USER_PROVISIONED", iops=variant.metadata_iops.smallest if iops is None else iops
    )


def _read_cache(settings: LustreSettings) -> fsx.CfnFileSystem.DataReadCacheConfigurationProperty | None:
    """The API requires one on Intelligent-Tiering, and knows none elsewhere."""
    variant = settings.variant
    if variant is None or variant.throughput_capacity is None:
        return None
    sized = settings.read_cache_gib is not None
    chosen = "USER_PROVISIONED" if sized else "PROPORTIONAL_TO_THROUGHPUT_CAPACITY"
    return fsx.CfnFileSystem.DataReadCacheConfigurationProperty(
        sizing_mode=settings.read_cache or chosen, size_gib=settings.read_cache_gib
    )
