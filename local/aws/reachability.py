"""Whether one resource can reach another, by security groups, routes and endpoints, read with boto3."""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network, collapse_addresses
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something is in the network: its security groups, and its subnet where rules name addresses.

    One without groups and subnet is anywhere: any address of IPv4.
    """

    groups: tuple[str, ...]
    subnet_id: str | None = None


class Reachability:
    """Answers as lists of what is missing: an empty list means that it works, on paper.

    Network ACLs, peering and on-premises routes are not looked at.
    """

    def __init__(self, ec2: Any) -> None:
        """Ask an EC2 client, e.g. `LocalAws.client("ec2")`."""
        self._ec2 = ec2

    def port(self, source: Place, destination: Place, port: int, *, protocol: str = "tcp") -> list[str]:
        """Return what keeps `source` from opening a connection to a port of `destination`."""
        missing: list[str] = []
        if not self.sends(source, destination, port, protocol=protocol):
            missing.append(f"{source.groups} may not send {protocol} {port} to {destination.groups}")
        if not self.takes(destination, source, port, protocol=protocol):
            missing.append(f"{destination.groups} does not take {protocol} {port} from {source.groups}")
        return missing

    def sends(self, source: Place, destination: Place, port: int, *, protocol: str = "tcp") -> bool:
        """Return whether the groups of `source` let it open connections to a port of `destination`."""
        return any(self._permits(rule, destination, port, protocol) for rule in self._rules(source, "egress"))

    def takes(self, destination: Place, source: Place, port: int, *, protocol: str = "tcp") -> bool:
        """Return whether the groups of `destination` let `source` connect to a port."""
        return any(self._permits(rule, source, port, protocol) for rule in self._rules(destination, "ingress"))

    def efa(self, group: str) -> list[str]:
        """Return what EFA lacks: a group must let all traffic to and from itself, by naming itself."""
        missing: list[str] = []
        for direction in ("ingress", "egress"):
            rules = self._rules(Place(groups=(group,)), direction)
            if not any(rule["IpProtocol"] == "-1" and group in _groups_of(rule) for rule in rules):
                missing.append(f"{group} has no rule of all traffic with itself for {direction}")
        return missing

    def default_route(self, subnet_id: str) -> str | None:
        """Return the target of a subnet's default route (`nat-…`, `igw-…`), `None` without one."""
        for route in self._route_table(subnet_id)["Routes"]:
            if route.get("DestinationCidrBlock") == "0.0.0.0/0":
                targets = ("NatGatewayId", "GatewayId", "TransitGatewayId", "NetworkInterfaceId")
                return next((route[name] for name in targets if route.get(name)), None)
        return None

    def gateway_endpoint(self, subnet_id: str, service: str = "s3") -> str | None:
        """Return the gateway endpoint by which a subnet reaches S3 or DynamoDB, `None` without one."""
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
        """Return the subnet's own route table, or its VPC's main one."""
        own = self._ec2.describe_route_tables(Filters=[{"Name": "association.subnet-id", "Values": [subnet_id]}])
        if own["RouteTables"]:
            return own["RouteTables"][0]
        vpc = self._ec2.describe_subnets(SubnetIds=[subnet_id])["Subnets"][0]["VpcId"]
        filters = [{"Name": "vpc-id", "Values": [vpc]}, {"Name": "association.main", "Values": ["true"]}]
        return self._ec2.describe_route_tables(Filters=filters)["RouteTables"][0]


def _groups_of(rule: dict[str, Any]) -> set[str]:
    return {pair["GroupId"] for pair in rule.get("UserIdGroupPairs", [])}
