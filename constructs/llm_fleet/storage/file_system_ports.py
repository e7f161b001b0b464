"""The security group of one file system, and the rules that let clients in."""

from collections.abc import Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.lustre import lustre_limits
from llm_fleet.catalog.openzfs import open_zfs_limits
from llm_fleet.network.network import rule_description
from llm_fleet.network.security_group import takes_rules_outward
from llm_fleet.rules.tokens import is_unresolved

_ONE_GROUP = (
    "The only source is one security group, of the file system or of its clients. EFA is no TCP and has no ports: FSx "
    "demands all traffic between the two. No address is let in."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PortRange:
    """Ports of one protocol; `-1` for all traffic of all protocols."""

    protocol: str
    first: int | None = None
    last: int | None = None

    @property
    def name(self) -> str:
        """A part for construct ids, e.g. `Tcp988`."""
        return "AllTraffic" if self.protocol == "-1" else f"{self.protocol.capitalize()}{self.first}"


def lustre_ports(*, efa_enabled: bool) -> list[PortRange]:
    """Return what Lustre clients and servers speak: LNet on TCP, or any traffic with EFA, which has no ports."""
    if efa_enabled:
        return [PortRange(protocol="-1")]
    return [PortRange(protocol="tcp", first=first, last=last) for first, last in lustre_limits().ports]


def open_zfs_ports() -> list[PortRange]:
    """Return what NFS clients speak to a server."""
    ranges = open_zfs_limits().ports
    return [PortRange(protocol=p, first=first, last=last) for p in ("tcp", "udp") for first, last in ranges]


class FileSystemPorts(Construct):
    """Opens `ports` of a file system's own security group, rule by rule, each a resource of its own.

    Resources of their own, because the file system must wait for them: FSx tries its port when it is created. The
    rules of clients that live in another stack stand in that stack, so that a short-lived cluster takes them away
    with it, and storage never depends on a cluster.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        security_group: ec2.ISecurityGroup,
        ports: Sequence[PortRange],
        both_ways: bool,
        name: str,
        owner: str,
        network_stack: cdk.Stack | None = None,
    ) -> None:
        """Take the file system's `security_group`, and whether servers open connections too (`both_ways`).

        `name` and `owner`, the file system's construct id, say in the rules' descriptions whose ports they are.
        `network_stack`: the one that makes the file system's network, which cannot wait for the file system's group
        and so holds no rules that name it.
        """
        super().__init__(scope, id)
        self._network_stack = network_stack
        self._group = security_group
        self._ports = tuple(ports)
        self._both_ways = both_ways
        self._name = name
        self._owner = owner
        self._clients: set[str] = set()

    def allow_servers(self) -> Construct:
        """Let the servers of the file system talk among themselves, and return the rules."""
        rules = Construct(self, "Servers")
        for port in self._ports:
            self._pair(rules, port, source=self._group, target=self._group, what="between the servers of")
        return rules

    def allow_clients(self, security_group: ec2.ISecurityGroup, *, here: bool = False) -> Construct | None:
        """Let clients in and return the rules; `None` when they are in already.

        The rules stand in the stack of `security_group` when that is another one, unless `here` says otherwise. Those
        of a group that is known by its id stand here: each stack may import it anew, and EC2 takes a rule once.
        """
        imported = not is_unresolved(security_group.security_group_id)
        key = security_group.security_group_id if imported else security_group.node.addr
        if key in self._clients or security_group.security_group_id == self._group.security_group_id:
            return None
        self._clients.add(key)
        rules = self._scope_of(security_group, key if imported else key[-8:], here=here, imported=imported)
        for port in self._ports:
            self._pair(rules, port, source=security_group, target=self._group, what="from clients to")
            if self._both_ways:
                self._pair(rules, port, source=self._group, target=security_group, what="back to clients of")
        return rules

    def _scope_of(self, security_group: ec2.ISecurityGroup, key: str, *, here: bool, imported: bool) -> Construct:
        theirs = cdk.Stack.of(security_group)
        if here:
            return Construct(self, "Clients")
        if imported or theirs in (cdk.Stack.of(self), self._network_stack):
            return Construct(self, f"Clients{key}")
        return Construct(theirs, f"{self._name.replace(' ', '')}Clients{self.node.addr[-8:]}{key}")

    def _pair(
        self, scope: Construct, port: PortRange, *, source: ec2.ISecurityGroup, target: ec2.ISecurityGroup, what: str
    ) -> None:
        """Both halves of one permission: out of the source's group, if that is made here, and into the target's."""
        inward = "Back" if target is not self._group else ""
        description = rule_description(f"{self._name}: {what} {self._owner}")
        if takes_rules_outward(source):
            ec2.CfnSecurityGroupEgress(
                scope,
                f"{port.name}{inward}Out",
                group_id=source.security_group_id,
                destination_security_group_id=target.security_group_id,
                ip_protocol=port.protocol,
                from_port=port.first,
                to_port=port.last,
                description=description,
            )
        ingress = ec2.CfnSecurityGroupIngress(
            scope,
            f"{port.name}{inward}In",
            group_id=target.security_group_id,
            source_security_group_id=source.security_group_id,
            ip_protocol=port.protocol,
            from_port=port.first,
            to_port=port.last,
            description=description,
        )
        if port.protocol == "-1":
            acknowledge(ingress, _ONE_GROUP, "NIST.800.53.R5-EC2RestrictedCommonPorts")
