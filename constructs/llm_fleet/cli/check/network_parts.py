"""Checks the VPC in which missing parts of a network will be created: what would make their creation fail."""

from collections.abc import Collection, Iterator
from ipaddress import IPv4Network
from typing import Any

from llm_fleet.cli.check.question import Account, Answer, own_ids
from llm_fleet.fleet_file.check_network import endpoint_features
from llm_fleet.fleet_file.fleet import Fleet, NetworkConfig
from llm_fleet.rules.account.subnets import no_such
from llm_fleet.rules.feature_codes import CheckCode
from llm_fleet.rules.network import interface_endpoints, missing_subnet_cidrs
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.network import ExistingParts

_PATH = ("network", "existing")
_ENDED = ("deleting", "deleted", "rejected", "expired", "failed")
"""States of endpoints without private DNS names. Source: model botocore ec2 State"""


def ask_missing_parts(fleet: Fleet, network: NetworkConfig, existing: ExistingParts, account: Account) -> Answer:
    """Return what others than the fleet's stacks have in the VPC that prevents a missing part."""
    found = account.find("ec2", "describe_vpcs", VpcIds=[existing.vpc]).get("Vpcs")
    if not found:
        remedy = f"write an id that `aws ec2 describe-vpcs --region {account.region}` lists"
        problem = no_such("VPC", existing.vpc, remedy, path=(*_PATH, "vpc"))
        return Answer(detail="the VPC does not exist", problems=[problem])
    own = own_ids(account, fleet)
    problems = [
        *_blocks(found[0], network),
        *_gateways(account, network, existing, own),
        *_associations(account, existing, own),
        *_endpoints(account, fleet, network, existing, own),
        *_subnets(account, fleet, network, existing, own),
    ]
    return Answer(detail=f"{len(problems)} obstacles" if problems else "nothing prevents them", problems=problems)


def _of_vpc(account: Account, call: str, existing: ExistingParts, *, name: str = "vpc-id") -> Any:
    return account.ask("ec2", call, Filters=[{"Name": name, "Values": [existing.vpc]}])


def _problem(message: str, value: str, remedy: str, *path: str) -> Problem:
    return Problem(code=CheckCode.IN_THE_WAY, path=(*_PATH, *path), message=message, value=value, remedy=remedy)


def _blocks(vpc: dict[str, Any], network: NetworkConfig) -> Iterator[Problem]:
    blocks = [
        one["CidrBlock"] for one in vpc["CidrBlockAssociationSet"] if one["CidrBlockState"]["State"] == "associated"
    ]
    for key in ("cidr", "compute_cidr"):
        if (wanted := getattr(network, key)) not in blocks:
            yield Problem(
                code=CheckCode.IN_THE_WAY,
                path=("network", key),
                message=f"{vpc['VpcId']} does not have the CIDR block {wanted}",
                value=wanted,
                allowed=", ".join(blocks),
                remedy="write the block of the VPC",
            )


def _gateways(
    account: Account, network: NetworkConfig, existing: ExistingParts, own: Collection[str]
) -> Iterator[Problem]:
    """A VPC can have one internet gateway: https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html."""
    if network.internet is InternetAccess.NONE:
        return
    answer = _of_vpc(account, "describe_internet_gateways", existing, name="attachment.vpc-id")
    attached = [str(one["InternetGatewayId"]) for one in answer["InternetGateways"]]
    named = existing.internet_gateway
    if named is None:
        for id in attached:
            if id not in own:
                message = f"{id} is attached to the VPC, which can have only one internet gateway"
                yield _problem(message, id, f"set `internet_gateway: {id}`, to use it")
    elif named not in attached:
        message = f"the internet gateway {named} is not attached to {existing.vpc}"
        yield _problem(message, named, "remove `internet_gateway`: then one is created", "internet_gateway")


def _associations(account: Account, existing: ExistingParts, own: Collection[str]) -> Iterator[Problem]:
    """EC2 rejects a second association of a subnet (Resource.AlreadyAssociated), or CloudFormation adopts the first and
    deletes it in a rollback. Either way it must be removed before.

    Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-resource-ec2-subnet-route-table-assoc.html
    Source: document https://docs.aws.amazon.com/vpc/latest/userguide/subnet-route-tables.html
    Source: recorded https://github.com/hashicorp/terraform-provider-aws/issues/38960
    """
    subnets = (*existing.subnets.values(), *existing.database_subnets)
    for table in _of_vpc(account, "describe_route_tables", existing)["RouteTables"]:
        for one in table["Associations"]:
            if one.get("SubnetId") in subnets and one["RouteTableAssociationId"] not in own:
                yield _problem(
                    f"{one['SubnetId']} is associated with {table['RouteTableId']}, and a subnet can have only one "
                    "route table",
                    table["RouteTableId"],
                    f"run `aws ec2 disassociate-route-table --association-id {one['RouteTableAssociationId']} "
                    f"--region {account.region}` shortly before the deployment: until it has finished, the subnet uses "
                    "the main route table, and its instances lose the routes to the internet and to gateway endpoints",
                    "subnets",
                )


def _endpoints(
    account: Account, fleet: Fleet, network: NetworkConfig, existing: ExistingParts, own: Collection[str]
) -> Iterator[Problem]:
    """A second endpoint of a service cannot have private DNS names in a VPC, and none can without DNS in the VPC.

    Source: document https://docs.aws.amazon.com/vpc/latest/privatelink/create-interface-endpoint.html
    """
    needed = interface_endpoints(network.internet, endpoint_features(fleet), network.endpoints)
    if needed:
        yield from _dns(account, existing)
    for one in _of_vpc(account, "describe_vpc_endpoints", existing)["VpcEndpoints"]:
        name, id = str(one["ServiceName"]).partition(f".{account.region}.")[2], one["VpcEndpointId"]
        ended = one["State"].lower() in _ENDED
        if name in needed and one.get("PrivateDnsEnabled") and not ended and id not in own:
            yield _problem(
                f"{existing.vpc} has the endpoint {id} of {name} with private DNS names, and cannot have another one",
                id,
                f"run `aws ec2 delete-vpc-endpoints --vpc-endpoint-ids {id} --region {account.region}`",
            )


def _dns(account: Account, existing: ExistingParts) -> Iterator[Problem]:
    for name, option in (("EnableDnsSupport", "enable-dns-support"), ("EnableDnsHostnames", "enable-dns-hostnames")):
        requested = name[0].lower() + name[1:]
        reported = account.ask("ec2", "describe_vpc_attribute", VpcId=existing.vpc, Attribute=requested)
        if not reported[name]["Value"]:
            yield _problem(
                f"{existing.vpc} has {requested} switched off, and EC2 then rejects endpoints with private DNS names",
                existing.vpc,
                f"run `aws ec2 modify-vpc-attribute --vpc-id {existing.vpc} --{option} --region {account.region}`",
                "vpc",
            )


def _subnets(
    account: Account, fleet: Fleet, network: NetworkConfig, existing: ExistingParts, own: Collection[str]
) -> Iterator[Problem]:
    planned = [
        IPv4Network(one) for one in missing_subnet_cidrs(network, database=fleet.storage.slurm_database is not None)
    ]
    used = {*own, *existing.subnets.values(), *existing.database_subnets}
    for one in _of_vpc(account, "describe_subnets", existing)["Subnets"]:
        taken = [str(block) for block in planned if block.overlaps(IPv4Network(one["CidrBlock"]))]
        if taken and one["SubnetId"] not in used:
            yield _problem(
                f"{one['SubnetId']} has addresses of {', '.join(taken)}, where a subnet of the network will be",
                one["SubnetId"],
                "name it under `existing`, if it is a compute or database subnet of this network, or run "
                f"`aws ec2 delete-subnet --subnet-id {one['SubnetId']} --region {account.region}`",
            )
