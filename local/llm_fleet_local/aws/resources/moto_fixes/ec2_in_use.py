"""A subnet or security group in use cannot be deleted: `DependencyViolation`, as in EC2.

moto deletes them with everything in them. It also keeps the network interfaces of deleted NAT gateways and of
terminated instances, sets no security groups on those of a VPC endpoint, and keeps them when its subnets change.

Source: model botocore ec2 DeleteSecurityGroup
Source: model botocore ec2 DeleteSubnet
"""

from typing import Any

from moto.ec2.exceptions import DependencyViolationError
from moto.ec2.models import EC2Backend

_INSTALLED = "_llm_fleet_in_use"


def install() -> None:
    """Reject the deletion of subnets and security groups in use."""
    if hasattr(EC2Backend, _INSTALLED):
        return
    setattr(EC2Backend, _INSTALLED, True)
    EC2Backend.delete_subnet = _checked(EC2Backend.delete_subnet, _subnet_users, "subnet")
    EC2Backend.delete_security_group = _checked(EC2Backend.delete_security_group, _group_users, "resource")
    EC2Backend.delete_nat_gateway = _with_its_interface(EC2Backend.delete_nat_gateway)
    EC2Backend.create_vpc_endpoint = _with_groups(EC2Backend.create_vpc_endpoint)
    EC2Backend.modify_vpc_endpoint = _with_its_subnets(EC2Backend.modify_vpc_endpoint)
    EC2Backend.terminate_instances = _with_their_interfaces(EC2Backend.terminate_instances)


def _checked(as_moto_does: Any, users_of: Any, kind: str) -> Any:
    def delete(self: Any, *args: Any, **named: Any) -> Any:
        resource_id = named.get("group_id") or named.get("subnet_id") or (args[0] if args else None)
        users = users_of(self, resource_id)
        if users:
            raise DependencyViolationError(
                f"The {kind} '{resource_id}' has dependencies and cannot be deleted: {', '.join(users)}"
            )
        return as_moto_does(self, *args, **named)

    return delete


def _subnet_users(ec2: Any, subnet_id: str) -> list[str]:
    return [_described(eni) for eni in ec2.enis.values() if eni.subnet.id == subnet_id]


def _group_users(ec2: Any, group_id: str) -> list[str]:
    users = [_described(eni) for eni in ec2.enis.values() if group_id in [group.id for group in eni.group_set]]
    for groups in ec2.groups.values():
        for group in groups.values():
            rules = [*group.ingress_rules, *group.egress_rules]
            sources = {rule.source_group.get("GroupId") for rule in rules}
            if group.id != group_id and group_id in sources:
                users.append(f"a rule of {group.id}")
    return users


def _described(eni: Any) -> str:
    return f"{eni.id} ({eni.description})" if eni.description else str(eni.id)


def _with_its_interface(as_moto_does: Any) -> Any:
    def delete_nat_gateway(self: Any, nat_gateway_id: str) -> Any:
        gateway = as_moto_does(self, nat_gateway_id)
        self.enis.pop(gateway._eni.id, None)
        return gateway

    return delete_nat_gateway


def _with_their_interfaces(as_moto_does: Any) -> Any:
    def terminate_instances(self: Any, instance_ids: list[str]) -> Any:
        terminated = as_moto_does(self, instance_ids)
        for instance, _ in terminated:
            for interface in instance.nics.values():
                self.enis.pop(interface.id, None)
        return terminated

    return terminate_instances


def _with_groups(as_moto_does: Any) -> Any:
    def create_vpc_endpoint(self: Any, *args: Any, **named: Any) -> Any:
        endpoint = as_moto_does(self, *args, **named)
        _complete(self, endpoint)
        return endpoint

    return create_vpc_endpoint


def _with_its_subnets(as_moto_does: Any) -> Any:
    def modify_vpc_endpoint(self: Any, vpc_id: str, *args: Any, **named: Any) -> Any:
        """Keep one interface in each subnet of the endpoint. moto passes the endpoint's id as `vpc_id`.

        Source: model botocore ec2 ModifyVpcEndpoint
        """
        answer = as_moto_does(self, vpc_id, *args, **named)
        endpoint = self.vpc_end_points[vpc_id]
        if str(endpoint.vpc_endpoint_type).lower() == "interface":
            there = {self.enis[one].subnet.id: one for one in endpoint.network_interface_ids}
            for subnet_id in there.keys() - set(endpoint.subnet_ids):
                self.enis.pop(there.pop(subnet_id))
            for subnet_id in [one for one in endpoint.subnet_ids if one not in there]:
                there[subnet_id] = self.create_network_interface(self.get_subnet(subnet_id), None).id
            endpoint.network_interface_ids = list(there.values())
            _complete(self, endpoint)
        return answer

    return modify_vpc_endpoint


def _complete(ec2: Any, endpoint: Any) -> None:
    """Set the endpoint's security groups and EC2's description on its interfaces."""
    groups = [ec2.get_security_group_from_id(one) for one in endpoint.security_group_ids or ()]
    for eni_id in endpoint.network_interface_ids or ():
        ec2.enis[eni_id]._group_set = [group for group in groups if group]
        ec2.enis[eni_id].description = f"VPC Endpoint Interface {endpoint.id}"
