"""Asks how nodes of an existing network reach AWS: by the internet, or by endpoints."""

from collections.abc import Callable
from typing import Any

from llm_fleet.cli.check.account import Account
from llm_fleet.cli.check.question import Answer
from llm_fleet.cli.check.security_groups import security_group
from llm_fleet.config.check_network_config import endpoint_features
from llm_fleet.config.existing_network import ExistingNetworkConfig
from llm_fleet.config.fleet import Fleet
from llm_fleet.rules.account.subnet import check_endpoint, check_endpoints_of_closed, check_way_out, no_such
from llm_fleet.rules.network_endpoints import interface_endpoints
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.terms import EndpointFeature, InternetAccess

_PATH: tuple[PathPart, ...] = ("network", "vpc", "subnets")
_HTTPS = 443
_TARGETS = ("NatGatewayId", "GatewayId", "TransitGatewayId", "NetworkInterfaceId", "InstanceId")


def ways_out(fleet: Fleet, existing: ExistingNetworkConfig, *, region: str) -> Callable[[Account], Answer]:
    """Return what asks, for all compute subnets of the network at once."""

    def answer(account: Account) -> Answer:
        tables = _route_tables(account, existing)
        if not tables:
            missing = no_such(
                "VPC",
                existing.vpc_id,
                f"name one of `aws ec2 describe-vpcs --region {region}`",
                path=("network", "vpc", "id"),
            )
            return Answer(detail="there is no such VPC", problems=[missing])
        closed: list[str] = []
        problems: list[Problem] = []
        shown: list[str] = []
        for subnet_id, table in tables.items():
            targets = _default_targets(table)
            problems += check_way_out(subnet_id, targets, path=_PATH)
            shown += [f"{subnet_id} by {target}" for target, _ in targets]
            if not targets:
                closed.append(subnet_id)
        if closed:
            shown.append(f"{', '.join(closed)} by endpoints alone")
            problems += _endpoints(account, fleet, existing, [tables[one] for one in closed], closed, region)
        return Answer(detail="; ".join(shown), problems=problems)

    return answer


def _route_tables(account: Account, existing: ExistingNetworkConfig) -> dict[str, dict[str, Any]]:
    """Return the route table of each compute subnet: its own, or the VPC's main one; nothing without VPC."""
    filters = [{"Name": "vpc-id", "Values": [existing.vpc_id]}]
    tables = account.ask("ec2", "describe_route_tables", Filters=filters)["RouteTables"]
    if not tables:  # Each VPC has one.
        return {}
    main: dict[str, Any] = {"Routes": [], "RouteTableId": ""}
    own: dict[str, dict[str, Any]] = {}
    for table in tables:
        for association in table["Associations"]:
            if association.get("Main"):
                main = table
            elif association.get("SubnetId"):
                own[association["SubnetId"]] = table
    return {subnet_id: own.get(subnet_id, main) for subnet_id in existing.subnets.values()}


def _default_targets(table: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (next((str(route[name]) for name in _TARGETS if route.get(name)), "nothing"), route.get("State", "active"))
        for route in table["Routes"]
        if route.get("DestinationCidrBlock") == "0.0.0.0/0"
    ]


def _endpoints(
    account: Account,
    fleet: Fleet,
    existing: ExistingNetworkConfig,
    tables: list[dict[str, Any]],
    closed: list[str],
    region: str,
) -> list[Problem]:
    filters = [{"Name": "vpc-id", "Values": [existing.vpc_id]}]
    told = account.ask("ec2", "describe_vpc_endpoints", Filters=filters)["VpcEndpoints"]
    interfaces = {_name(one, region): one for one in told if one["VpcEndpointType"] == "Interface"}
    routed = {
        table
        for one in told
        if one["VpcEndpointType"] == "Gateway" and _name(one, region) == "s3"
        for table in one["RouteTableIds"]
    }
    needed = interface_endpoints(InternetAccess.NONE, _features(fleet))
    problems = check_endpoints_of_closed(
        closed,
        needed=needed,
        there=interfaces,
        route_tables=sorted({one["RouteTableId"] for one in tables} - routed),
        vpc_id=existing.vpc_id,
        region=region,
        path=_PATH,
    )
    for name in needed:
        if name in interfaces:
            problems += _usable(account, existing, name, interfaces[name], region)
    return problems


def _features(fleet: Fleet) -> set[EndpointFeature]:
    """Return what the fleet does, as in a closed network; of an existing one the fleet file does not say whether."""
    features = set(endpoint_features(fleet))
    if fleet.services:
        features.add(EndpointFeature.INFERENCE)
    if fleet.notebooks or fleet.studio is not None:
        features.add(EndpointFeature.SAGEMAKER_WORK)
    return features


def _usable(
    account: Account, existing: ExistingNetworkConfig, name: str, endpoint: dict[str, Any], region: str
) -> list[Problem]:
    nodes = security_group(account, existing.security_group_id) if existing.security_group_id else None
    groups = [security_group(account, group["GroupId"]) for group in endpoint.get("Groups", ())]
    lets_in = nodes is None or any(
        group is not None and group.takes(_HTTPS, nodes, _cidrs(account, existing)) for group in groups
    )
    return check_endpoint(
        name,
        endpoint["VpcEndpointId"],
        state=endpoint["State"],
        private_dns=bool(endpoint.get("PrivateDnsEnabled")),
        lets_in=lets_in,
        region=region,
        path=_PATH,
    )


def _cidrs(account: Account, existing: ExistingNetworkConfig) -> list[str]:
    told = account.ask("ec2", "describe_subnets", SubnetIds=sorted(existing.subnets.values()))
    return [subnet["CidrBlock"] for subnet in told["Subnets"]]


def _name(endpoint: dict[str, Any], region: str) -> str:
    return str(endpoint["ServiceName"]).partition(f".{region}.")[2]
