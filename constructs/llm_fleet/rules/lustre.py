"""What the FSx for Lustre API refuses, told before anything is deployed."""

from llm_fleet.catalog.lustre import lustre_limits, lustre_variants
from llm_fleet.rules.codes import Code
from llm_fleet.rules.file_systems import (
    check_backups,
    check_compression,
    check_daily_time,
    check_weekly_time,
    words,
)
from llm_fleet.rules.lustre_features import (
    check_drive_cache,
    check_efa,
    check_key,
    check_metadata,
    check_read_cache,
    check_version,
)
from llm_fleet.rules.lustre_settings import LustreSettings
from llm_fleet.rules.lustre_sizes import check_capacity, check_throughput, check_throughput_capacity
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved


def check_lustre(settings: LustreSettings) -> list[Problem]:
    """Return everything that FSx would refuse of `settings`, by the attribute names of `LustreSettings`."""
    limits = lustre_limits()
    free = [
        *check_compression(settings.compression, limits.compressions),
        *check_daily_time(settings.backup_start_time, "backup_start_time"),
        *check_weekly_time(settings.maintenance_start_time, "maintenance_start_time"),
    ]
    variant = settings.variant
    if variant is None:
        return [*_check_type(settings), *free]
    return [
        *check_throughput(settings, variant),
        *check_capacity(settings, variant),
        *check_throughput_capacity(settings, variant),
        *check_version(settings, variant),
        *check_efa(settings, variant),
        *check_metadata(settings, variant),
        *check_drive_cache(settings, variant),
        *check_read_cache(settings, variant),
        *check_key(settings, variant),
        *check_backups(
            settings.backup_retention_days,
            settings.copy_tags_to_backups,
            longest=limits.backup_retention_days if variant.backups else 0,
            owner=variant.deployment_type,
        ),
        *free,
    ]


def _check_type(settings: LustreSettings) -> list[Problem]:
    deployment, storage = settings.deployment_type, settings.storage_type
    if is_unresolved(deployment) or is_unresolved(storage):
        return []
    deployments = tuple(dict.fromkeys(v.deployment_type for v in lustre_variants()))
    if deployment not in deployments:
        return [
            Problem(
                code=Code.LUSTRE_TYPE,
                path=("deployment_type",),
                value=deployment,
                message=f"FSx for Lustre knows no deployment type {str(deployment)!r}",
                allowed=words(deployments),
                remedy=did_you_mean(deployment, deployments, otherwise="write 'PERSISTENT_2'"),
            )
        ]
    storages = [v.storage_type for v in lustre_variants() if v.deployment_type == deployment]
    elsewhere = [v.deployment_type for v in lustre_variants() if v.storage_type == storage]
    move = f", or use {words(elsewhere)} for {storage} storage" if elsewhere else ""
    return [
        Problem(
            code=Code.LUSTRE_TYPE,
            path=("storage_type",),
            value=storage,
            message=f"{deployment} is not sold on {storage} storage",
            allowed=words(storages),
            remedy=f"write {storages[0]!r}{move}",
        )
    ]
