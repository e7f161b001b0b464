"""Checks of services that create network interfaces in a VPC: ids that exist, traffic that security groups allow."""

import ipaddress
from typing import Any

from moto.ec2.models import ec2_backends

_LUSTRE_PORT = 988
_ANY_PROTOCOL = "-1"


class NetworkOf:
    """The emulated EC2 of one account and region, for use by another service."""

    def __init__(self, account: str, region: str) -> None:
        """Use the EC2 of this account and region."""
        self._ec2: Any = ec2_backends[account][region]

    def subnet(self, subnet_id: str) -> Any:
        """Return a subnet, or `None`."""
        return next((zone[subnet_id] for zone in self._ec2.subnets.values() if subnet_id in zone), None)

    def security_group(self, group_id: str) -> Any:
        """Return a security group, or `None`."""
        return self._ec2.get_security_group_from_id(group_id)

    def default_group_id(self, vpc_id: str) -> str:
        """Return the id of a VPC's default security group."""
        return str(self._ec2.get_security_group_from_name("default", vpc_id).id)

    def has_internet_gateway(self, subnet_id: str) -> bool:
        """Return whether the subnet's VPC has an internet gateway."""
        vpc_id = self.subnet(subnet_id).vpc_id
        return any(gateway.vpc and gateway.vpc.id == vpc_id for gateway in self._ec2.internet_gateways.values())

    def problems(self, subnet_ids: list[str], group_ids: list[str]) -> list[str]:
        """Return an error for each id that does not exist, and one if the ids are not all in one VPC.

        Source: assumption service-error-texts
        """
        subnets = {one: self.subnet(one) for one in subnet_ids}
        groups = {one: self.security_group(one) for one in group_ids}
        errors = [f"The subnet ID '{one}' does not exist" for one, found in subnets.items() if found is None]
        errors += [f"The security group ID '{one}' does not exist" for one, found in groups.items() if found is None]
        vpcs = {found.vpc_id for found in (*subnets.values(), *groups.values()) if found is not None}
        return (
            errors
            if errors or len(vpcs) <= 1
            else [f"subnets and security groups are in different VPCs: {sorted(vpcs)}"]
        )

    def attach(self, subnet_id: str, group_ids: list[str], description: str) -> str:
        """Create a network interface in a subnet, as the service does; return its id."""
        interface = self._ec2.create_network_interface(
            self.subnet(subnet_id), None, group_ids=group_ids, description=description
        )
        interface.status = "in-use"
        return str(interface.id)

    def place_of(self, interface_id: str) -> dict[str, Any]:
        """Return the IP address, the host name and the AZ of a network interface, as nodes report them."""
        interface = self._ec2.enis[interface_id]
        address = str(interface.private_ip_address)
        subnet = interface.subnet
        return {
            "PrivatePrimaryIp": address,
            "PrivateDnsHostname": f"ip-{address.replace('.', '-')}",
            "Placement": {
                "AvailabilityZone": subnet.availability_zone,
                "AvailabilityZoneId": subnet.availability_zone_id,
            },
        }

    def detach(self, interface_ids: list[str]) -> None:
        """Delete network interfaces; missing ones are ignored."""
        for one in interface_ids:
            if one in self._ec2.enis:
                self._ec2.delete_network_interface(one)

    def allows_lustre(self, group_ids: list[str], subnet_id: str) -> bool:
        """Return whether the groups allow port 988 between themselves, or from the whole subnet.

        Source: document https://docs.aws.amazon.com/fsx/latest/LustreGuide/cannot-create-fs.html (2026-11)
        """
        return any(
            _covers(rule, _LUSTRE_PORT) and (_from(rule, group_ids) or self._whole_subnet(rule, subnet_id))
            for rule in self._rules(group_ids, "ingress_rules")
        )

    def allows_all_within(self, group_ids: list[str]) -> bool:
        """Return whether the groups allow all traffic between themselves, in and out, as EFA requires.

        Source: document https://docs.aws.amazon.com/fsx/latest/LustreGuide/cannot-create-fs.html (2026-11)
        """
        return all(
            any(rule.ip_protocol == _ANY_PROTOCOL and _from(rule, group_ids) for rule in self._rules(group_ids, side))
            for side in ("ingress_rules", "egress_rules")
        )

    def _rules(self, group_ids: list[str], side: str) -> list[Any]:
        return [rule for one in group_ids for rule in getattr(self.security_group(one), side)]

    def _whole_subnet(self, rule: Any, subnet_id: str) -> bool:
        if "CidrIp" not in rule.ip_range:
            return False
        return ipaddress.IPv4Network(self.subnet(subnet_id).cidr_block).subnet_of(
            ipaddress.IPv4Network(rule.ip_range["CidrIp"])
        )


def _covers(rule: Any, port: int) -> bool:
    if rule.ip_protocol == _ANY_PROTOCOL:
        return True
    return rule.ip_protocol == "tcp" and int(rule.from_port) <= port <= int(rule.to_port)


def _from(rule: Any, group_ids: list[str]) -> bool:
    return rule.source_group.get("GroupId") in group_ids
