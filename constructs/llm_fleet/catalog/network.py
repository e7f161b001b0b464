"""Facts about networks: addresses and interfaces, endpoints of AWS's services, regions and zones."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from llm_fleet.catalog.data_file import KEY, reader


@dataclass(frozen=True, slots=True, kw_only=True)
class AssociationRule:
    """What AWS refuses as a further CIDR block of a VPC."""

    primary: str
    """Where the VPC's first block lies."""
    refused: tuple[str, ...]
    """Where a further block may not lie then."""
    instead: str
    """Where it may, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressFacts:
    """Sizes and limits of subnets, and what each kind of resource takes of them."""

    reserved_per_subnet: int
    """Addresses that AWS keeps of every subnet: the first four and the last."""
    largest_block_prefix: int
    """Prefix length of the largest VPC CIDR block and subnet."""
    smallest_block_prefix: int
    """Prefix length of the smallest VPC CIDR block and subnet."""
    docker_bridge: str
    """The range of Docker's bridge on every node: AWS warns against it in a VPC of SageMaker."""
    most_zones: int
    """AZs that the layout of the primary CIDR has room for."""
    addresses_of_unknown_instance: int
    """What an instance whose network cards no source tells is taken to need."""
    addresses_of_file_system: int
    """What an FSx file system needs at the least."""
    addresses_of_serving_host: int
    """What an ECS host and the one serving task on it need: each has an interface of its own."""
    interface_quota: int
    """Default of the quota of network interfaces; AWS enforces it in each AZ."""
    interface_quota_code: str
    interface_quota_name: str
    private_ranges: tuple[str, ...]
    """RFC 1918 and RFC 6598 (100.64.0.0/10)."""
    log_retention_days: tuple[int, ...]
    """For how many days CloudWatch Logs can keep a log."""
    association_rules: tuple[AssociationRule, ...]
    """All whose `primary` holds the first block count; the first that refuses is told."""


address_facts = reader(AddressFacts, "addresses")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One interface endpoint, under the name after `com.amazonaws.<region>.`."""

    name: str
    purpose: str
    """What nodes use it for."""
    needed_by: tuple[str, ...]
    """Which features need it; `always` for every node without internet."""
    next_to_nat: bool
    """Whether it is made beside NAT too: a node whose way out is broken can still be entered, and its logs read."""
    own_principals_only: bool
    """Whether its policy may admit principals of the own account only, because the service's agents do not call it."""


node_endpoints = reader(tuple[Endpoint, ...], "endpoints")
"""The interface endpoints that nodes need, in the order of the data file."""
endpoint_names = reader(frozenset[str], "endpoint_names")
"""The names of all interface endpoints that AWS offers."""

_ZONE_ID = re.compile(r"(?P<prefix>[a-z]+[0-9]+)(-[a-z0-9]+)*-az[0-9]+")
"""`usw2-az4`, and Local Zones such as `usw2-lax1-az1`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """One region."""

    name: Annotated[str, KEY]
    partition: str
    """`aws`, `aws-cn` or `aws-us-gov`."""
    az_id_prefix: str
    """What its AZ ids begin with, e.g. `usw2`."""
    hyperpod: bool
    """Whether HyperPod was there when the table was made."""


regions = reader(Mapping[str, Region], "regions")
"""The regions of the partitions aws, aws-cn and aws-us-gov, by name."""


def az_id_prefix(az_id: str) -> str | None:
    """Return what `az_id` begins with, e.g. `usw2`, or `None` when it has not the shape of an AZ id."""
    match = _ZONE_ID.fullmatch(az_id)
    return match["prefix"] if match else None


def region_of_az_id(az_id: str) -> str | None:
    """Return the name of the region that `az_id` lies in, or `None` when no known region has its prefix."""
    prefix = az_id_prefix(az_id)
    return next((region.name for region in regions().values() if region.az_id_prefix == prefix), None)
