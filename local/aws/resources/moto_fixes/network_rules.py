"""Checks of services that put network interfaces into a VPC: whether the ids exist, what security groups permit."""

import ipaddress
from typing import Any

from moto.ec2.models import ec2_backends

_LUSTRE_PORT = 988
_ANY_PROTOCOL = "-1"


class NetworkOf:
    """The EC2 of one account and region, as another service sees it."""

    def __init__(self, account: str, region: str) -> None:
        """Look into the emulated EC2."""
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

    def has_way_out(self, subnet_id: str) -> bool:
        """Return whether the subnet's VPC has an internet gateway."""
        vpc_id = self.subnet(subnet_id).vpc_id
        return any(gateway.vpc and gateway.vpc.id == vpc_id for gateway in self._ec2.internet_gateways.values())

    def problems(self, subnet_ids: list[str], group_ids: list[str]) -> list[str]:
        """Return which ids do not exist, and whether they are all of one VPC.

        Source: assumption service-error-texts
        """
        subnets = {one: self.subnet(one) for one in subnet_ids}
        groups = {one: self.security_group(one) for one in group_ids}
        reported = [f"The subnet ID '{one}' does not exist" for one, found in subnets.items() if found is None]
        reported += [f"The security group ID '{one}' does not exist" for one, found in groups.items() if found is None]
        vpcs = {found.vpc_id for found in (*subnets.values(), *groups.values()) if found is not None}
        return (
            reported
            if reported or len(vpcs) <= 1
            else [f"subnets and security groups are of different VPCs: {sorted(vpcs)}"]
        )

    def attach(self, subnet_id: str, group_ids: list[str], description: str) -> str:
        """Put a network interface into a subnet, as the service does; return its id."""
        interface = self._ec2.create_network_interface(
            self.subnet(subnet_id), None, group_ids=group_ids, description=description
        )
        interface.status = "in-use"
        return str(interface.id)

    def place_of(self, interface_id: str) -> dict[str, Any]:
        """Return the address, the name and the zone of a network interface, as nodes report them."""
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
        """Take network interfaces away; those that are gone already are no matter."""
        for one in interface_ids:
            if one in self._ec2.enis:
                self._ec2.delete_network_interface(one)

    def lets_lustre_in(self, group_ids: list[str], subnet_id: str) -> bool:
        """Return whether the groups permit port 988 between themselves, or from the whole of the subnet.

        Source: document https://docs.aws.amazon.com/fsx/latest/LustreGuide/cannot-create-fs.html (2026-11)
        """
        return any(
            _covers(rule, _LUSTRE_PORT) and (_from(rule, group_ids) or self._whole_subnet(rule, subnet_id))
            for rule in self._rules(group_ids, "ingress_rules")
        )

    def lets_all_through(self, group_ids: list[str]) -> bool:
        """Return whether all traffic may pass between the groups themselves, in and out, as EFA needs it.

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
