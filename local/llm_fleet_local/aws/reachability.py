"""Checks whether one resource can reach another: security groups, routes and endpoints, read with boto3."""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network, collapse_addresses
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A location in the network: security groups, and a subnet for rules with addresses.

    Without groups and subnet it is any IPv4 address.
    """

    groups: tuple[str, ...]
    subnet_id: str | None = None


class Reachability:
    """Results are lists of what is missing; with an empty list, the configuration allows the connection.

    Network ACLs, peering and on-premises routes are not checked.
    """

    def __init__(self, ec2: Any) -> None:
        """Use an EC2 client, e.g. `LocalAws.client("ec2")`."""
        self._ec2 = ec2

    def port(self, source: Place, destination: Place, port: int, *, protocol: str = "tcp") -> list[str]:
        """Return what prevents a connection from `source` to a port of `destination`."""
        missing: list[str] = []
        if not self.sends(source, destination, port, protocol=protocol):
            missing.append(f"{source.groups} does not allow outbound {protocol} {port} to {destination.groups}")
        if not self.takes(destination, source, port, protocol=protocol):
            missing.append(f"{destination.groups} does not allow inbound {protocol} {port} from {source.groups}")
        return missing

    def sends(self, source: Place, destination: Place, port: int, *, protocol: str = "tcp") -> bool:
        """Return whether the groups of `source` allow connections to a port of `destination`."""
        return any(self._permits(rule, destination, port, protocol) for rule in self._rules(source, "egress"))

    def takes(self, destination: Place, source: Place, port: int, *, protocol: str = "tcp") -> bool:
        """Return whether the groups of `destination` allow connections from `source` to a port."""
        return any(self._permits(rule, source, port, protocol) for rule in self._rules(destination, "ingress"))

    def efa(self, group: str) -> list[str]:
        """Return what EFA lacks: a group must allow all traffic to and from itself, with rules that name the group."""
        missing: list[str] = []
        for direction in ("ingress", "egress"):
            rules = self._rules(Place(groups=(group,)), direction)
            if not any(rule["IpProtocol"] == "-1" and group in _groups_of(rule) for rule in rules):
                missing.append(f"{group} has no {direction} rule for all traffic with itself")
        return missing

    def default_route(self, subnet_id: str) -> str | None:
        """Return the target of a subnet's default route (`nat-…`, `igw-…`); `None` if it has none."""
        for route in self._route_table(subnet_id)["Routes"]:
            if route.get("DestinationCidrBlock") == "0.0.0.0/0":
                targets = ("NatGatewayId", "GatewayId", "TransitGatewayId", "NetworkInterfaceId")
                return next((route[name] for name in targets if route.get(name)), None)
        return None

    def gateway_endpoint(self, subnet_id: str, service: str = "s3") -> str | None:
        """Return the gateway endpoint of a subnet for S3 or DynamoDB; `None` if it has none."""
        table = self._route_table(subnet_id)["RouteTableId"]
        for endpoint in self._ec2.describe_vpc_endpoints()["VpcEndpoints"]:
            gateway = endpoint.get("VpcEndpointType") == "Gateway" and endpoint["ServiceName"].endswith(f".{service}")
            if gateway and table in endpoint.get("RouteTableIds", []):
                return str(endpoint["VpcEndpointId"])
        return None

    def _rules(self, place: Place, direction: str) -> Iterator[dict[str, Any]]:
        key = "IpPermissions" if direction == "ingress" else "IpPermissionsEgress"
        for group in self._ec2.describe_security_groups(GroupIds=list(place.groups))["SecurityGroups"]:
            yield from group[key]

    def _permits(self, rule: dict[str, Any], peer: Place, port: int, protocol: str) -> bool:
        if rule["IpProtocol"] != "-1" and not (
            rule["IpProtocol"] == protocol and rule["FromPort"] <= port <= rule["ToPort"]
        ):
            return False
        return bool(_groups_of(rule) & set(peer.groups)) or self._covers(rule, peer)

    def _covers(self, rule: dict[str, Any], peer: Place) -> bool:
        ranges = [IPv4Network(item["CidrIp"]) for item in rule.get("IpRanges", [])]
        if peer.subnet_id is None:
            return any(item.prefixlen == 0 for item in collapse_addresses(ranges))
        subnet = self._ec2.describe_subnets(SubnetIds=[peer.subnet_id])["Subnets"][0]
        return any(IPv4Network(subnet["CidrBlock"]).subnet_of(item) for item in ranges)

    def _route_table(self, subnet_id: str) -> dict[str, Any]:
        """Return the subnet's own route table, or the main one of its VPC."""
        own = self._ec2.describe_route_tables(Filters=[{"Name": "association.subnet-id", "Values": [subnet_id]}])
        if own["RouteTables"]:
            return own["RouteTables"][0]
        vpc = self._ec2.describe_subnets(SubnetIds=[subnet_id])["Subnets"][0]["VpcId"]
        filters = [{"Name": "vpc-id", "Values": [vpc]}, {"Name": "association.main", "Values": ["true"]}]
        return self._ec2.describe_route_tables(Filters=filters)["RouteTables"][0]


def _groups_of(rule: dict[str, Any]) -> set[str]:
    return {pair["GroupId"] for pair in rule.get("UserIdGroupPairs", [])}
