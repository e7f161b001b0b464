"""The AZs of a network: named by id, of the region, each once."""

import re
from collections.abc import Sequence

from llm_fleet.catalog.network import address_facts, az_id_prefix, region_of_az_id, regions
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved

_ZONE_NAME = re.compile(r"[a-z]+(-[a-z]+)+-\d[a-z]")


def check_zones(availability_zone_ids: Sequence[str], *, region: str | None = None) -> list[Problem]:
    """Return what is wrong with the AZs. `region` is left out where it is known only at deploy time."""
    most = address_facts().most_zones
    if not availability_zone_ids:
        return [
            Problem(
                code=Code.ZONE_MISSING,
                path=("availability_zone_ids",),
                message="the network has no AZ",
                allowed=f"1 to {most} AZ ids",
                remedy=f"name the AZ in which your capacity is, by id{_example(region)}",
            )
        ]
    problems: list[Problem] = []
    for index, zone in enumerate(availability_zone_ids):
        if is_unresolved(zone):
            continue
        problems += _check_zone(index, zone, region)
        if zone in availability_zone_ids[:index]:
            problems.append(
                Problem(
                    code=Code.ZONE_TWICE,
                    path=("availability_zone_ids", index),
                    message=f"{zone} is named twice",
                    value=zone,
                    allowed="each AZ once",
                    remedy="leave one of them out: all groups of an AZ share its compute subnet",
                )
            )
    if len(availability_zone_ids) > most:
        problems.append(
            Problem(
                code=Code.ZONE_LIMIT,
                path=("availability_zone_ids",),
                message=f"a network has room for {most} AZs, not for {len(availability_zone_ids)}",
                value=list(availability_zone_ids),
                allowed=f"1 to {most} AZ ids",
                remedy="keep the AZs in which you have capacity",
            )
        )
    return problems


def _check_zone(index: int, zone: str, region: str | None) -> list[Problem]:
    path = ("availability_zone_ids", index)
    prefix = az_id_prefix(zone)
    if not prefix:
        name = _ZONE_NAME.fullmatch(zone)
        return [
            Problem(
                code=Code.ZONE_ID,
                path=path,
                message=f"{zone} is an AZ's name, which stands for another place in each account"
                if name
                else f"{zone!r} is no AZ id",
                value=zone,
                allowed=f"an AZ id{_example(region)}",
                remedy="write the AZ's id: `aws ec2 describe-availability-zones --query "
                f"'AvailabilityZones[].[ZoneName,ZoneId]'{f' --region {region}' if region else ''}` tells it",
            )
        ]
    expected = _prefix_of(region)
    home = region_of_az_id(zone) or "its own region"
    if expected and prefix != expected:
        return [
            Problem(
                code=Code.ZONE_REGION,
                path=path,
                message=f"{zone} is not in {region}",
                value=zone,
                allowed=f"AZ ids that begin with {expected}-",
                remedy=f"choose an AZ of {region}{_example(region)}, or deploy to {home}",
            )
        ]
    return []


def _prefix_of(region: str | None) -> str | None:
    """Return what AZ ids of `region` begin with; `None` where it is not told, a token, or not in the catalog."""
    facts = regions().get(region) if region and not is_unresolved(region) else None
    return facts.az_id_prefix if facts else None


def _example(region: str | None) -> str:
    return f", e.g. {_prefix_of(region) or 'usw2'}-az1"
