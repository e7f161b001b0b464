"""Network facts: IP addresses, network interfaces, VPC endpoints, regions and Availability Zones."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from llm_fleet.catalog.data_file import KEY, reader


@dataclass(frozen=True, slots=True, kw_only=True)
class AssociationRule:
    """Restrictions of AWS on additional CIDR blocks of a VPC."""

    primary: str
    """The range of the VPC's primary CIDR block."""
    refused: tuple[str, ...]
    """Ranges that AWS rejects for additional blocks."""
    instead: str
    """Allowed ranges, as text for messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressFacts:
    """Sizes and limits of subnets, and the IP addresses that each kind of resource uses."""

    reserved_per_subnet: int
    """Addresses that AWS reserves in every subnet: the first four and the last."""
    largest_block_prefix: int
    """Prefix length of the largest VPC CIDR block and subnet."""
    smallest_block_prefix: int
    """Prefix length of the smallest VPC CIDR block and subnet."""
    docker_bridge: str
    """The range of Docker's bridge on every node; AWS advises against it in a VPC for SageMaker."""
    most_zones: int
    """Maximum number of AZs in the layout of the primary CIDR."""
    addresses_of_unknown_instance: int
    """Assumed addresses of an instance with an unknown number of network cards."""
    addresses_of_file_system: int
    """Minimum addresses of an FSx file system."""
    addresses_of_serving_host: int
    """Addresses of an ECS host and its serving task: each has a network interface."""
    interface_quota: int
    """Default quota of network interfaces; AWS enforces it in each AZ."""
    interface_quota_code: str
    interface_quota_name: str
    private_ranges: tuple[str, ...]
    """RFC 1918 and RFC 6598 (100.64.0.0/10)."""
    log_retention_days: tuple[int, ...]
    """Retention periods in days that CloudWatch Logs supports."""
    association_rules: tuple[AssociationRule, ...]
    """All rules whose `primary` contains the primary block apply; the first violated rule is reported."""


address_facts = reader(AddressFacts, "addresses")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One interface endpoint; its name is the part after `com.amazonaws.<region>.`."""

    name: str
    purpose: str
    """What nodes use it for."""
    needed_by: tuple[str, ...]
    """Features that need it; `always` for every node without internet."""
    even_with_nat: bool
    """Whether it is created even with NAT, so that sessions and logs work on a node without internet access."""
    own_principals_only: bool
    """Whether its policy can allow only principals of the account, because no service principal calls it."""


node_endpoints = reader(tuple[Endpoint, ...], "endpoints")
"""Interface endpoints that nodes need, in the order of the data file."""
endpoint_names = reader(frozenset[str], "endpoint_names")
"""Names of all interface endpoints that AWS offers."""

_ZONE_ID = re.compile(r"(?P<prefix>[a-z]+[0-9]+)(-[a-z0-9]+)*-az[0-9]+")
"""`usw2-az4`, and Local Zones such as `usw2-lax1-az1`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A region of AWS with its partition."""

    name: Annotated[str, KEY]
    partition: str
    """`aws`, `aws-cn` or `aws-us-gov`."""
    az_id_prefix: str
    """The prefix of its AZ ids, e.g. `usw2`."""
    hyperpod: bool
    """Whether HyperPod was available there when the table was made."""


regions = reader(Mapping[str, Region], "regions")
"""The regions of the partitions aws, aws-cn and aws-us-gov, by name."""


def az_id_prefix(az_id: str) -> str | None:
    """Return the prefix of `az_id`, e.g. `usw2`, or `None` when it is not an AZ id."""
    match = _ZONE_ID.fullmatch(az_id)
    return match["prefix"] if match else None


def region_of_az_id(az_id: str) -> str | None:
    """Return the region of `az_id`, or `None` when no known region has its prefix."""
    prefix = az_id_prefix(az_id)
    return next((region.name for region in regions().values() if region.az_id_prefix == prefix), None)
