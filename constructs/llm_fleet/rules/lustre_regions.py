"""Where a Lustre deployment type may be missing."""

from llm_fleet.catalog.lustre import lustre_limits
from llm_fleet.rules.lustre_settings import LustreSettings
from llm_fleet.rules.terms import LustreDeploymentType


def doubt_about_region(settings: LustreSettings) -> str | None:
    """Return what makes it doubtful that the region has such a file system; `None` when nothing does.

    No problem that is refused: regions gain deployment types faster than a table learns of it.
    """
    limits, region = lustre_limits(), settings.region
    if settings.deployment_type != LustreDeploymentType.PERSISTENT_2 or region is None:
        return None
    if region in limits.regions_without_persistent_2:
        return (
            f"FSx for Lustre is not known to have PERSISTENT_2 in {region}: if it still has not, creation will fail; "
            "take PERSISTENT_1 or SCRATCH_2 there"
        )
    if region not in limits.regions_without_efa:
        return None
    if settings.efa_enabled:
        return f"FSx for Lustre is not known to have EFA in {region}: leave efa_enabled out if creation fails"
    most = limits.throughput_without_efa
    if (settings.effective_throughput or 0) > most:
        return f"FSx for Lustre is not known to go beyond {most} MB/s/TiB in {region}: take that if creation fails"
    return None
