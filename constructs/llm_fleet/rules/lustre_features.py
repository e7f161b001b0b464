"""What may be switched on, on which Lustre file system."""

from llm_fleet.catalog.lustre import LustreVariant, lustre_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.file_systems import check_choice, nearest_of, words
from llm_fleet.rules.lustre_settings import LustreSettings
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved


def check_version(settings: LustreSettings, variant: LustreVariant) -> list[Problem]:
    """Return a problem unless the deployment type runs this server version."""
    version = settings.version
    if is_unresolved(version) or version in variant.versions:
        return []
    known = version in lustre_limits().versions
    return [
        Problem(
            code=Code.LUSTRE_VERSION,
            path=("version",),
            value=version,
            message=f"{variant.deployment_type} on {variant.storage_type} does not run Lustre {version}"
            if known
            else f"FSx sells no Lustre {version}",
            allowed=words(variant.versions),
            remedy=f"take {variant.versions[-1]}, or leave it out",
        )
    ]


def check_efa(settings: LustreSettings, variant: LustreVariant) -> list[Problem]:
    """Return a problem when EFA is asked for and the service would refuse it, or silently leave it off.

    It is decided when the file system is created and cannot be changed later.
    """
    if settings.efa_enabled is not True:
        return []
    if not variant.efa:
        return [
            _efa(
                f"{variant.deployment_type} has no EFA; the service ignores the wish without a word",
                "use PERSISTENT_2, or leave EFA out",
            )
        ]
    wanted = lustre_limits().metadata_version
    if _is_older(settings.version):
        return [_efa(f"Lustre {settings.version} has no EFA", f"take Lustre {wanted}, or leave EFA out")]
    tier, capacity = variant.tier(settings.effective_throughput), settings.effective_capacity_gib
    if tier is None or tier.efa_capacity is None or capacity is None or is_unresolved(capacity):
        return []
    if tier.efa_capacity.accepts(capacity):
        return []
    sizes = nearest_of(*tier.efa_capacity.nearest(capacity), "GiB")
    return [
        _efa(
            f"EFA at {tier.throughput} MB/s/TiB is not sold in {capacity} GiB",
            f"{sizes}, a higher throughput (its steps are smaller), or leave EFA out",
            allowed=tier.efa_capacity.describe("GiB"),
        )
    ]


def check_metadata(settings: LustreSettings, variant: LustreVariant) -> list[Problem]:
    """Return a problem unless metadata IOPS can be provisioned as asked."""
    value, steps = settings.metadata_iops, variant.metadata_iops
    if value is None or is_unresolved(value):
        return []
    wanted = lustre_limits().metadata_version
    if steps is None or _is_older(settings.version):
        return [
            Problem(
                code=Code.LUSTRE_METADATA,
                path=("metadata_iops",),
                value=value,
                message=f"{variant.deployment_type} with Lustre {settings.version} has no metadata configuration",
                remedy=f"leave it out, or use PERSISTENT_2 with Lustre {wanted}",
            )
        ]
    if steps.accepts(value):
        return []
    return [
        Problem(
            code=Code.LUSTRE_METADATA,
            path=("metadata_iops",),
            value=value,
            message=f"{variant.deployment_type} on {variant.storage_type} is not sold with {value} metadata IOPS",
            allowed=steps.describe("IOPS"),
            remedy=nearest_of(*steps.nearest(value), "IOPS"),
        )
    ]


def _is_older(version: str) -> bool:
    """Whether `version` is sold, but without EFA and metadata IOPS. `check_version` tells one that is not sold."""
    limits = lustre_limits()
    return not is_unresolved(version) and version in limits.versions and version != limits.metadata_version


def check_drive_cache(settings: LustreSettings, variant: LustreVariant) -> list[Problem]:
    """Return a problem when a drive cache is set on anything but HDD, or is unknown."""
    value = settings.drive_cache
    if value is None or is_unresolved(value):
        return []
    if not variant.drive_cache:
        return [_cache("drive_cache", value, "only HDD storage has a drive cache", "leave it out")]
    return check_choice(
        value,
        lustre_limits().drive_caches,
        code=Code.LUSTRE_CACHE,
        name="drive_cache",
        what="there is no drive cache type",
    )


def check_read_cache(settings: LustreSettings, variant: LustreVariant) -> list[Problem]:
    """Return what is wrong with the SSD read cache, which only Intelligent-Tiering has."""
    mode, size, steps = settings.read_cache, settings.read_cache_gib, variant.throughput_capacity
    if steps is None:
        asked = {"read_cache": mode, "read_cache_gib": size}
        only = "only Intelligent-Tiering has an SSD read cache"
        return [_cache(name, value, only, "leave it out") for name, value in asked.items() if value is not None]
    problems = check_choice(
        mode,
        lustre_limits().read_cache_modes,
        code=Code.LUSTRE_CACHE,
        name="read_cache",
        what="there is no read cache mode",
    )
    sized = mode in (None, "USER_PROVISIONED")
    if mode == "USER_PROVISIONED" and size is None:
        problems.append(_cache("read_cache_gib", None, "a user-provisioned read cache needs a size", "set its GiB"))
    if size is not None and not sized and not is_unresolved(mode):
        problems.append(_cache("read_cache_gib", size, f"{mode} takes no size", "leave the size out"))
    throughput = settings.effective_throughput_capacity
    if size is None or throughput is None or steps.step is None or is_unresolved([size, throughput]) or not sized:
        return problems
    least, most = (gib * (throughput // steps.step) for gib in lustre_limits().read_cache_gib_per_step)
    if not least <= size <= most and steps.accepts(throughput):
        message = f"{throughput} MB/s does not go with a read cache of {size} GiB"
        problems.append(_cache("read_cache_gib", size, message, f"take {least} to {most} GiB"))
    return problems


def check_key(settings: LustreSettings, variant: LustreVariant) -> list[Problem]:
    """Return a problem when a scratch file system is to be encrypted with a key of one's own."""
    if not settings.own_key or variant.own_key:
        return []
    return [
        Problem(
            code=Code.FILE_SYSTEM_KEY,
            path=("encryption_key",),
            message=f"{variant.deployment_type} is encrypted with a key of the service and takes no other",
            remedy="leave the key out, or use a persistent deployment type",
        )
    ]


def _efa(message: str, remedy: str, *, allowed: str = "") -> Problem:
    return Problem(
        code=Code.LUSTRE_EFA, path=("efa_enabled",), value=True, message=message, allowed=allowed, remedy=remedy
    )


def _cache(name: str, value: object, message: str, remedy: str) -> Problem:
    return Problem(code=Code.LUSTRE_CACHE, path=(name,), value=value, message=message, remedy=remedy)
