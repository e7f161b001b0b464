"""Tells the region and the network of a request."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from llm_fleet.catalog.network import region_of_az_id, regions
from llm_fleet.cli.importing.notes import Notes
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem

_ARN_REGION = re.compile(r"arn:[a-z-]+:(?:sagemaker|secretsmanager|kms):([a-z0-9-]+):")
_DNS_REGION = re.compile(r"\.fsx\.([a-z0-9-]+)\.amazonaws")
_ENVIRONMENT = ("AWS_REGION", "AWS_DEFAULT_REGION")


def tell_region(
    request: Mapping[str, Any], asked: str | None, zones: Sequence[str], notes: Notes, problems: list[Problem]
) -> str:
    """Return the region: as asked, else of the AZs, else as ARNs in the request tell it, else of the environment."""
    if asked is not None:
        return asked
    found = [(region_of_az_id(zones[0]), "the AZ's")] if zones else []
    found += [(region, "that of an ARN or a host name in the request") for region in _regions_in(request)]
    found += [(os.environ.get(name), f"that of {name}") for name in _ENVIRONMENT]
    for region, source in found:
        if region is not None and region in regions():
            notes.chosen(f"the region {region} is {source}: a request does not name its region")
            return region
    problems.append(
        Problem(
            code=Code.REQUEST_REGION,
            message="a request does not name its region, and nothing in it tells it",
            remedy="add `--region` and the region of the cluster, e.g. `--region us-west-2`",
            allowed=", ".join(regions()),
        )
    )
    return ""


def tell_network(
    request: Mapping[str, Any], zones: Sequence[str], vpc: str | None, notes: Notes, problems: list[Problem]
) -> str | dict[str, Any]:
    """Return the network: the request's own as one that exists, else one to be made in `zones`, else none."""
    config = request.get("VpcConfig")
    if config is not None:
        return _existing(config, zones, vpc, notes, problems)
    if zones:
        notes.chosen(f"a VPC is made, with a compute subnet in {', '.join(zones)}: the request has no VpcConfig")
        return {"az": zones[0]} if len(zones) == 1 else {"azs": list(zones)}
    notes.chosen("no network, since the request has no VpcConfig; `--az ID` has a VPC made, which a file system needs")
    return "none"


def _existing(
    config: Mapping[str, Any], zones: Sequence[str], vpc: str | None, notes: Notes, problems: list[Problem]
) -> dict[str, Any]:
    subnets, groups = config.get("Subnets", []), config.get("SecurityGroupIds", [])
    if vpc is None or len(zones) != len(subnets):
        problems.append(_ask(subnets))
        return {}
    for more in groups[1:]:
        notes.left_out(f"security group {more}: a network has one; give it to the groups that need it")
    told: dict[str, Any] = {"id": vpc, "subnets": dict(zip(zones, subnets, strict=True))}
    notes.chosen(f"VpcConfig is taken as it is, under network.vpc, in {vpc}")
    return {"vpc": told | ({"security_group": groups[0]} if groups else {})}


def _ask(subnets: Sequence[str]) -> Problem:
    return Problem(
        code=Code.REQUEST_SHAPE,
        message="a fleet file names the VPC and the AZ of each subnet, which VpcConfig does not tell",
        remedy=f"add `--vpc` with the VPC's id, and an `--az` with the AZ id of each of {', '.join(subnets)} in turn; "
        f"`aws ec2 describe-subnets --subnet-ids {' '.join(subnets)} "
        "--query 'Subnets[].[SubnetId,VpcId,AvailabilityZoneId]'` tells them",
        path=("VpcConfig",),
        value=list(subnets),
    )


def _regions_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from _ARN_REGION.findall(value)
        yield from _DNS_REGION.findall(value)
    elif isinstance(value, Mapping):
        for member in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from _regions_in(member)
    elif isinstance(value, list):
        for member in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _regions_in(member)
