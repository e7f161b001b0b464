"""Where a file system stands in a network: its subnet, its security group, and who may reach it."""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct, IConstruct

from llm_fleet.held import hold
from llm_fleet.network.network import Network, rule_description
from llm_fleet.storage.file_system_ports import FileSystemPorts, PortRange


class FileSystemAccess(Construct):
    """The place of one file system: a security group of its own, open to the clients of its network."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        network: Network,
        availability_zone_id: str | None,
        ports: Sequence[PortRange],
        servers_talk: bool,
        kind: str,
        removal_policy: cdk.RemovalPolicy,
    ) -> None:
        """Make the group and its rules.

        `servers_talk`: the file system has several servers, which talk among themselves and call clients back.
        """
        super().__init__(scope, id)
        self._network = network
        self._removal_policy = removal_policy
        self.availability_zone_id = availability_zone_id or network.availability_zone_ids[0]
        """The AZ id."""
        self.subnet_id = network.compute_subnet(availability_zone_id).subnet_id
        """The compute subnet in that AZ."""
        group = ec2.SecurityGroup(
            self,
            "SecurityGroup",
            vpc=network.vpc,
            description=rule_description(f"{kind}: {scope.node.id}"),
            # The CDK's default would open the way out to everywhere, and swallow the narrow rules made here.
            allow_all_outbound=False,
        )
        group.apply_removal_policy(removal_policy)
        hold(group)
        self.security_group: ec2.ISecurityGroup = group
        """The file system's own group."""
        self.connections = ec2.Connections(security_groups=[group], default_port=_default_port(ports))
        """The group's connections."""
        self.ports = FileSystemPorts(
            self,
            "Ports",
            security_group=group,
            ports=ports,
            both_ways=servers_talk,
            name=kind,
            owner=scope.node.id,
            network_stack=cdk.Stack.of(network.security_group),
        )
        """Who may reach it."""
        made = [self.ports.allow_clients(network.security_group, here=True)]
        if servers_talk:
            made.append(self.ports.allow_servers())
        self._rules = [rules for rules in made if rules is not None]

    def carry(self, file_system: cdk.CfnResource) -> None:
        """Have `file_system` wait for every rule, and be retained, or not, together with what it stands on."""
        file_system.apply_removal_policy(self._removal_policy)
        hold(file_system)
        file_system.node.add_dependency(self._network.security_group_rules, *self._rules)
        for rule in _resources(self._rules):
            rule.apply_removal_policy(self._removal_policy)
        if self._removal_policy != cdk.RemovalPolicy.DESTROY:
            self._network.keep()


def _resources(scopes: Sequence[IConstruct]) -> list[cdk.CfnResource]:
    children = [child for scope in scopes for child in scope.node.children]
    return [child for child in children if isinstance(child, cdk.CfnResource)]


def _default_port(ports: Sequence[PortRange]) -> ec2.Port:
    """The smallest single range that covers `ports`: a default port can be only one."""
    firsts = [port.first for port in ports if port.first is not None]
    lasts = [port.last for port in ports if port.last is not None]
    return ec2.Port.tcp_range(min(firsts), max(lasts)) if firsts and lasts else ec2.Port.all_traffic()
