"""AWS's regions: how their zones are called, and where HyperPod exists."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from llm_fleet.catalog.data_file import load

_ZONE_ID = re.compile(r"(?P<prefix>[a-z]+[0-9]+)(-[a-z0-9]+)*-az[0-9]+")
"""`usw2-az4`, and Local Zones such as `usw2-lax1-az1`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """One region."""

    name: str
    partition: str
    """`aws`, `aws-cn` or `aws-us-gov`."""
    az_id_prefix: str
    """What its AZ ids begin with, e.g. `usw2`."""
    hyperpod: bool
    """Whether HyperPod was there when the table was made."""


@cache
def regions() -> Mapping[str, Region]:
    """Return the regions of the partitions aws, aws-cn and aws-us-gov, by name."""
    return MappingProxyType({name: Region(name=name, **facts) for name, facts in load("regions").items()})


def az_id_prefix(az_id: str) -> str | None:
    """Return what `az_id` begins with, e.g. `usw2`, or `None` when it has not the shape of an AZ id."""
    match = _ZONE_ID.fullmatch(az_id)
    return match["prefix"] if match else None


def region_of_az_id(az_id: str) -> str | None:
    """Return the name of the region that `az_id` lies in, or `None` when no known region has its prefix."""
    prefix = az_id_prefix(az_id)
    return next((region.name for region in regions().values() if region.az_id_prefix == prefix), None)
