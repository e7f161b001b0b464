"""Rules of AWS Regions and AZ ids."""

from collections.abc import Iterator

from llm_fleet.catalog.network import az_id_prefix, region_of_az_id, regions
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, is_unresolved, rule
from llm_fleet.rules.values import did_you_mean, nearest


@rule
def check_region(region: str | None) -> Iterator[Problem]:
    """Check that `region` is an AWS Region; `None` passes: it is set by the environment of the deployment."""
    if region is None or is_unresolved(region) or region in regions():
        return
    zone_of = region.rstrip("abcdefgh")
    remedy = (
        f"write `{zone_of}`: {region!r} is an AZ of it"
        if zone_of in regions()
        else did_you_mean(region, regions(), otherwise="write one of the allowed regions")
    )
    yield Problem(
        code=Code.REGION_UNKNOWN,
        message="unknown AWS Region",
        remedy=remedy,
        path=("region",),
        value=region,
        allowed=", ".join(regions()),
    )


def check_hyperpod_region(region: str | None) -> list[Problem]:
    """Check that `region` is an AWS Region with HyperPod."""
    problems = check_region(region)
    if problems or region is None or is_unresolved(region) or regions()[region].hyperpod:
        return problems
    having = [each.name for each in regions().values() if each.hyperpod]
    return [
        Problem(
            code=Code.REGION_WITHOUT_HYPERPOD,
            message=f"AWS does not offer HyperPod in {region}",
            remedy=f"write one of the allowed regions, e.g. `{nearest(region, having) or having[-1]}`",
            path=("region",),
            value=region,
            allowed=", ".join(having),
        )
    ]


@rule
def check_az_id(region: str | None, az_id: str | None) -> Iterator[Problem]:
    """Check that `az_id` has the form of an AZ id, and is in `region` if that is known.

    Local Zones (`usw2-lax1-az1`) pass. The number of the AZ is not checked, since AWS adds AZs.
    """
    if az_id is None or is_unresolved(az_id):
        return
    prefix = az_id_prefix(az_id)
    known = regions().get(region) if region is not None and not is_unresolved(region) else None
    example = f"{known.az_id_prefix}-az1" if known else "usw2-az1"
    if prefix is None:
        is_name = any(az_id.startswith(name) for name in regions())
        yield Problem(
            code=Code.ZONE_ID,
            message="this is the name of an AZ, which means a different AZ in each account; AZ ids are the same in "
            "all accounts"
            if is_name
            else "this is not an AZ id",
            remedy=f"write the AZ id, e.g. `{example}`; "
            "`aws ec2 describe-availability-zones` shows both, as ZoneName and ZoneId",
            path=("availability_zone_id",),
            value=az_id,
        )
        return
    if known is None or prefix == known.az_id_prefix:
        return
    elsewhere = region_of_az_id(az_id)
    yield Problem(
        code=Code.ZONE_REGION,
        message=f"{az_id} is in {elsewhere}, not in {known.name}" if elsewhere else f"{az_id} is not in {known.name}",
        remedy=f"write an AZ id of {known.name}, e.g. `{example}`"
        + (f", or set the region to {elsewhere}" if elsewhere else ""),
        path=("availability_zone_id",),
        value=az_id,
        allowed=f"ids that begin with {known.az_id_prefix}-",
    )
