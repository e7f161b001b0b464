"""Rules of the FSx for Lustre API, checked before deployment."""

from collections.abc import Iterator

from llm_fleet.catalog.fsx import LustreVariant, lustre_limits, lustre_variants
from llm_fleet.rules.codes import Code
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.file_systems import (
    check_backups,
    check_choice,
    check_compression,
    check_daily_time,
    check_log_group_name,
    check_weekly_time,
    nearest_of,
    words,
)
from llm_fleet.rules.problem import Problem, is_unresolved
from llm_fleet.spec.storage import LustreBackups, LustreSpec


def check_lustre(spec: LustreSpec) -> list[Problem]:
    """Return everything that FSx would reject in `spec`, by the attribute names of `LustreSpec`."""
    limits, backups = lustre_limits(), spec.backups or LustreBackups()
    free = [
        *check_fields(spec),
        *check_compression(spec.compression, limits.compressions),
        *check_daily_time(backups.start_time, "backups", "start_time"),
        *check_weekly_time(spec.maintenance_start_time, "maintenance_start_time"),
        *_check_log(spec),
    ]
    variant = spec.variant
    if variant is None:
        return [*_check_type(spec), *free]
    return [
        *_check_throughput(spec, variant),
        *_check_capacity(spec, variant),
        *_check_throughput_capacity(spec, variant),
        *_check_version(spec, variant),
        *_check_efa(spec, variant),
        *_check_metadata(spec, variant),
        *_check_drive_cache(spec, variant),
        *_check_read_cache(spec, variant),
        *_check_key(spec, variant),
        *check_backups(
            backups.retention_days,
            backups.copy_tags,
            longest=limits.backup_retention_days if variant.backups else 0,
            owner=variant.deployment_type,
        ),
        *free,
    ]


def _check_type(spec: LustreSpec) -> Iterator[Problem]:
    deployment, storage = spec.deployment_type, spec.storage_type
    if is_unresolved(deployment) or is_unresolved(storage):
        return
    storages = [v.storage_type for v in lustre_variants() if v.deployment_type == deployment]
    elsewhere = [v.deployment_type for v in lustre_variants() if v.storage_type == storage]
    move = f", or use {words(elsewhere)} for {storage} storage" if elsewhere else ""
    yield spec.wrong(
        "storage_type",
        Code.LUSTRE_TYPE,
        f"{deployment} is not available with {storage} storage",
        f"write `{storages[0]}`{move}",
        allowed=words(storages),
    )


def _check_throughput(spec: LustreSpec, variant: LustreVariant) -> Iterator[Problem]:
    """Return a problem unless the deployment type supports this throughput per TiB."""
    value = spec.throughput.per_tib if spec.throughput is not None else None
    if value is None or is_unresolved(value) or value in variant.throughputs:
        return
    if not variant.throughputs:
        elastic = variant.throughput_capacity is not None
        yield spec.wrong(
            "throughput",
            Code.LUSTRE_THROUGHPUT,
            f"the throughput of {_name(variant)} cannot be set per TiB"
            if elastic
            else f"the throughput of {variant.deployment_type} is fixed and cannot be set",
            "set the throughput of the whole file system in MB/s"
            if elastic
            else "remove it, or use PERSISTENT_2 to choose a throughput",
            value=value,
        )
        return
    below = max((t for t in variant.throughputs if t < value), default=None)
    above = min((t for t in variant.throughputs if t > value), default=None)
    yield spec.wrong(
        "throughput",
        Code.LUSTRE_THROUGHPUT,
        f"{_name(variant)} does not support {value} MB/s/TiB",
        nearest_of(below, above, "MB/s/TiB"),
        allowed=f"{words(variant.throughputs)} MB/s/TiB",
        value=value,
    )


def _check_capacity(spec: LustreSpec, variant: LustreVariant) -> Iterator[Problem]:
    """Return a problem unless the deployment type supports this size with its throughput."""
    value = spec.storage_capacity_gib
    if value is None or is_unresolved(value):
        return
    if not variant.tiers:
        yield spec.wrong(
            "storage_capacity_gib",
            Code.LUSTRE_CAPACITY,
            f"{_name(variant)} is elastic: its size cannot be set",
            "remove the size, or use SSD storage",
        )
        return
    # An unsupported throughput has its own problem; the size is then checked with the first tier.
    tier = variant.tier(spec.effective_throughput) or variant.tiers[0]
    if tier.capacity.accepts(value):
        return
    with_throughput = f" with {tier.throughput} MB/s/TiB" if variant.storage_type == "HDD" else ""
    yield spec.wrong(
        "storage_capacity_gib",
        Code.LUSTRE_CAPACITY,
        f"{_name(variant)}{with_throughput} is not available with {value} GiB",
        nearest_of(*tier.capacity.nearest(value), "GiB"),
        allowed=tier.capacity.describe("GiB"),
    )


def _check_throughput_capacity(spec: LustreSpec, variant: LustreVariant) -> Iterator[Problem]:
    """Return a problem unless the file system supports this total throughput."""
    value, steps = spec.throughput.whole if spec.throughput is not None else None, variant.throughput_capacity
    if value is None or is_unresolved(value) or (steps is not None and steps.accepts(value)):
        return
    yield spec.wrong(
        "throughput",
        Code.LUSTRE_THROUGHPUT,
        f"{_name(variant)} does not support {value} MB/s"
        if steps
        else f"the throughput of {_name(variant)} cannot be set for the whole file system",
        nearest_of(*steps.nearest(value), "MB/s") if steps else "remove it",
        allowed=steps.describe("MB/s") if steps else "",
        value=value,
    )


def _name(variant: LustreVariant) -> str:
    """The deployment type, with the storage type unless that is SSD, the usual one."""
    return variant.deployment_type + ("" if variant.storage_type == "SSD" else f" on {variant.storage_type} storage")


def _check_version(spec: LustreSpec, variant: LustreVariant) -> Iterator[Problem]:
    """Return a problem unless the deployment type supports this Lustre version."""
    version = spec.version
    if is_unresolved(version) or version in variant.versions:
        return
    known = version in lustre_limits().versions
    yield spec.wrong(
        "version",
        Code.LUSTRE_VERSION,
        f"{variant.deployment_type} on {variant.storage_type} does not support Lustre {version}"
        if known
        else f"FSx does not support Lustre {version}",
        f"write {variant.versions[-1]}, or remove it",
        allowed=words(variant.versions),
    )


def _check_efa(spec: LustreSpec, variant: LustreVariant) -> Iterator[Problem]:
    """Return a problem when EFA is enabled and the service would reject or ignore it.

    EFA cannot be changed after the file system is created.
    """
    if spec.efa_enabled is not True:
        return
    if not variant.efa:
        yield _efa(
            f"{variant.deployment_type} does not support EFA, and FSx would ignore the setting",
            "use PERSISTENT_2, or remove EFA",
        )
        return
    wanted = lustre_limits().metadata_version
    if _is_older(spec.version):
        yield _efa(f"Lustre {spec.version} does not support EFA", f"use Lustre {wanted}, or remove EFA")
        return
    tier, capacity = variant.tier(spec.effective_throughput), spec.effective_capacity_gib
    if tier is None or tier.efa_capacity is None or capacity is None or is_unresolved(capacity):
        return
    if tier.efa_capacity.accepts(capacity):
        return
    sizes = nearest_of(*tier.efa_capacity.nearest(capacity), "GiB")
    yield _efa(
        f"with EFA, {tier.throughput} MB/s/TiB is not available with {capacity} GiB",
        f"{sizes}, use a higher throughput, whose steps are smaller, or remove EFA",
        allowed=tier.efa_capacity.describe("GiB"),
    )


def _check_metadata(spec: LustreSpec, variant: LustreVariant) -> Iterator[Problem]:
    """Return a problem unless this number of metadata IOPS can be provisioned."""
    value, steps = spec.metadata_iops, variant.metadata_iops
    if value is None or is_unresolved(value):
        return
    wanted = lustre_limits().metadata_version
    if steps is None or _is_older(spec.version):
        yield spec.wrong(
            "metadata_iops",
            Code.LUSTRE_METADATA,
            f"{variant.deployment_type} with Lustre {spec.version} does not support metadata IOPS",
            f"remove it, or use PERSISTENT_2 with Lustre {wanted}",
        )
    elif not steps.accepts(value):
        yield spec.wrong(
            "metadata_iops",
            Code.LUSTRE_METADATA,
            f"{variant.deployment_type} on {variant.storage_type} does not support {value} metadata IOPS",
            nearest_of(*steps.nearest(value), "IOPS"),
            allowed=steps.describe("IOPS"),
        )


def _is_older(version: str) -> bool:
    """Whether `version` is supported, but without EFA and metadata IOPS. `_check_version` reports unsupported ones."""
    limits = lustre_limits()
    return not is_unresolved(version) and version in limits.versions and version != limits.metadata_version


def _check_drive_cache(spec: LustreSpec, variant: LustreVariant) -> list[Problem]:
    """Return a problem when a drive cache is set on anything but HDD, or is unknown."""
    value = spec.drive_cache
    if value is None or is_unresolved(value):
        return []
    if not variant.drive_cache:
        return [
            _cache("drive_cache", value, "`drive_cache` has no effect: only HDD storage has a drive cache", "remove it")
        ]
    return check_choice(
        value,
        lustre_limits().drive_caches,
        code=Code.LUSTRE_CACHE,
        name="drive_cache",
        what="unknown drive cache type",
    )


def _check_read_cache(spec: LustreSpec, variant: LustreVariant) -> Iterator[Problem]:
    """Return what is wrong with the SSD read cache, which only Intelligent-Tiering supports."""
    mode, size, steps = spec.read_cache, spec.read_cache_gib, variant.throughput_capacity
    if steps is None:
        for name, value in {"read_cache": mode, "read_cache_gib": size}.items():
            if value is not None:
                yield _cache(
                    name, value, f"`{name}` has no effect: only Intelligent-Tiering has an SSD read cache", "remove it"
                )
        return
    modes, what = lustre_limits().read_cache_modes, "unknown read cache mode"
    yield from check_choice(mode, modes, code=Code.LUSTRE_CACHE, name="read_cache", what=what)
    sized = mode in (None, "USER_PROVISIONED")
    if mode == "USER_PROVISIONED" and size is None:
        yield _cache(
            "read_cache_gib", None, "the size is required for a user-provisioned read cache", "set its size in GiB"
        )
    if size is not None and not sized and not is_unresolved(mode):
        yield _cache("read_cache_gib", size, f"the size of the read cache has no effect with {mode}", "remove the size")
    throughput = spec.effective_throughput_capacity
    if size is None or throughput is None or steps.step is None or is_unresolved([size, throughput]) or not sized:
        return
    least, most = (gib * (throughput // steps.step) for gib in lustre_limits().read_cache_gib_per_step)
    if not least <= size <= most and steps.accepts(throughput):
        message = f"with {throughput} MB/s the read cache must have {least} to {most} GiB"
        yield _cache("read_cache_gib", size, message, f"write {least} to {most} GiB")


def _check_key(spec: LustreSpec, variant: LustreVariant) -> Iterator[Problem]:
    """Return a problem when a scratch file system has a customer managed key."""
    if spec.encryption_key is not None and not variant.own_key:
        yield spec.wrong(
            "encryption_key",
            Code.FILE_SYSTEM_KEY,
            f"{variant.deployment_type} supports only the encryption key of the service",
            "remove the key, or use a persistent deployment type",
            value=None,
        )


def _efa(message: str, remedy: str, *, allowed: str = "") -> Problem:
    return Problem(
        code=Code.LUSTRE_EFA, path=("efa_enabled",), value=True, message=message, allowed=allowed, remedy=remedy
    )


def _cache(name: str, value: object, message: str, remedy: str) -> Problem:
    return Problem(code=Code.LUSTRE_CACHE, path=(name,), value=value, message=message, remedy=remedy)


def _check_log(spec: LustreSpec) -> Iterator[Problem]:
    """Return a problem when a log group is set without logging, or has a name that FSx rejects."""
    if spec.log_group is None:
        return
    if spec.log_level == "DISABLED":
        yield spec.wrong(
            "log_group",
            Code.FILE_SYSTEM_LOG,
            "`log_group` has no effect with log level DISABLED",
            "remove one of the two",
            value=None,
        )
    if isinstance(spec.log_group, str):
        yield from check_log_group_name(spec.log_group)
