"""A network as a whole, one to be made or one that exists. Values in, problems out."""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from llm_fleet.catalog.network import address_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.log_retention import check_retention_days
from llm_fleet.rules.network_cidrs import check_cidrs, check_subnet_cidrs, check_vpc_cidrs
from llm_fleet.rules.network_endpoints import check_endpoints, check_without_endpoints, interface_endpoints
from llm_fleet.rules.network_layout import compute_slot, primary_slots
from llm_fleet.rules.network_load_balancers import check_load_balancer_zones
from llm_fleet.rules.network_zones import check_zones
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import EndpointFeature
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.network import ExistingNetworkSpec, NetworkSpec

_ID = r"-(?:[0-9a-f]{8}|[0-9a-f]{17})"


def check_network(
    spec: NetworkSpec, *, endpoint_features: Collection[EndpointFeature] = (), region: str | None = None
) -> list[Problem]:
    """Return all that is wrong with a network to be made, by the attribute names of `NetworkSpec`.

    `endpoint_features`: what else nodes do that needs an endpoint. `region`: left out where only a deployment knows it.
    """
    if spec.az is not None and spec.availability_zone_ids:
        return [
            Problem(
                code=Code.CONTRADICTION,
                message="`az` and `azs` say the same thing twice",
                remedy="keep `azs` for several AZs, `az` for one",
                path=("availability_zone_ids",),
                value=list(spec.availability_zone_ids),
            )
        ]
    zones = spec.zones
    problems = [
        *(_of_one(spec, problem) for problem in check_zones(zones, region=region)),
        *check_cidrs(spec.cidr, spec.compute_cidr),
        *check_endpoints(spec.endpoints),
        *check_retention_days(spec.flow_log_days, Code.FLOW_LOG_DAYS, "flow_log_days"),
        *_check_quota(spec.interface_quota),
        *check_load_balancer_zones(spec.load_balancer_zone_ids, availability_zone_ids=zones, region=region),
    ]
    if not problems:
        names = interface_endpoints(spec.internet, endpoint_features, spec.endpoints)
        problems += check_without_endpoints(
            spec.without_endpoints, availability_zone_ids=zones, internet=spec.internet, names=names
        )
        problems += _check_primary_split(spec.cidr, len(names))
        problems += _check_compute_split(spec.compute_cidr, len(zones))
    return problems


def check_existing_network(spec: ExistingNetworkSpec, *, region: str | None = None) -> list[Problem]:
    """Return all that is wrong with what is told of an existing network, by the attribute names of its description."""
    told = {"subnets": spec.subnets, "private_subnets": spec.private_subnets, "public_subnets": spec.public_subnets}
    named = {name: zones for name, zones in told.items() if zones or name == "subnets"}
    problems = [problem for name, zones in named.items() for problem in _check_zones_of(name, tuple(zones), region)]
    problems += _check_id(("vpc_id",), "vpc", spec.vpc_id)
    for name, zones in named.items():
        for zone, subnet_id in zones.items():
            problems += _check_id((name, zone), "subnet", subnet_id)
    problems += check_vpc_cidrs(spec.vpc_cidrs)
    problems += check_subnet_cidrs(spec.compute_cidrs, spec.subnets)
    if spec.security_group_id is not None:
        problems += _check_id(("security_group_id",), "sg", spec.security_group_id)
    return problems


def _of_one(spec: NetworkSpec, problem: Problem) -> Problem:
    """Return `problem` of the AZs where the only AZ was named, if one was."""
    return problem if spec.az is None else replace(problem, path=("az",))


def _check_zones_of(name: str, zones: Sequence[str], region: str | None) -> list[Problem]:
    """Return what is wrong with the AZs of the subnets `name`, each placed where the subnet is named."""
    return [
        replace(problem, path=(name, *(zones[part] for part in problem.path if isinstance(part, int))))
        for problem in check_zones(zones, region=region)
    ]


def _check_id(path: tuple[str, ...], kind: str, value: str) -> list[Problem]:
    if is_unresolved(value) or re.fullmatch(kind + _ID, value):
        return []
    return [
        Problem(
            code=Code.EXISTING_ID,
            path=path,
            message=f"{value!r} is no id of a {kind}",
            value=value,
            allowed=f"{kind}- and 8 or 17 hexadecimal digits",
            remedy=f"write the id as the console or `aws ec2` shows it, e.g. {kind}-0123456789abcdef0",
        )
    ]


def _check_quota(quota: int | None) -> list[Problem]:
    if quota is None or is_unresolved(quota) or quota > 0:
        return []
    return [
        Problem(
            code=Code.INTERFACE_QUOTA_VALUE,
            path=("interface_quota",),
            message="no account has a quota of that many network interfaces",
            value=quota,
            allowed="a positive number",
            remedy=f"leave it out for the default of {address_facts().interface_quota}",
        )
    ]


def _check_primary_split(cidr: str, endpoints: int) -> list[Problem]:
    """Ask of the primary CIDR that each part holds an endpoint of every service, or the NAT gateway."""
    facts = address_facts()
    needed = endpoints + facts.reserved_per_subnet
    subnet = min(facts.smallest_block_prefix, 32 - (needed - 1).bit_length())
    what = f"{primary_slots()} subnets that each have room for {endpoints} interface endpoints"
    return _check_split("cidr", cidr, primary_slots(), subnet, what)


def _check_compute_split(compute_cidr: str, zones: int) -> list[Problem]:
    """Ask of the compute CIDR that the last AZ, which has the smallest part, has a subnet."""
    smallest = address_facts().smallest_block_prefix
    slots, _ = compute_slot(zones - 1)
    count = "one AZ" if zones == 1 else f"{zones} AZs"
    what = f"{count}: each takes half of the addresses that are left, so that another AZ can be added later"
    return _check_split("compute_cidr", compute_cidr, slots, smallest, what)


def _check_split(name: str, cidr: str, slots: int, subnet_prefix: int, what: str) -> list[Problem]:
    if is_unresolved(cidr):
        return []
    most = subnet_prefix - (slots - 1).bit_length()
    if int(cidr.rpartition("/")[2]) <= most:
        return []
    return [
        Problem(
            code=Code.CIDR_SPLIT,
            path=(name,),
            message=f"{cidr} is too small for {what}",
            value=cidr,
            allowed=f"/{address_facts().largest_block_prefix} to /{most}",
            remedy=f"choose a /{most} or larger",
        )
    ]
