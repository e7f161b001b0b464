"""The common parts of file systems: their subnet, access to their ports, and the attributes that clusters need."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from constructs import Construct, IConstruct, IDependable

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.fsx import lustre_limits, open_zfs_limits
from llm_fleet.network.network import Network
from llm_fleet.network.security_group import (
    ALL_TRAFFIC,
    PortRange,
    accepts_egress_rules,
    egress_rule,
    ingress_rule,
    rule_description,
)
from llm_fleet.references import hold, security_group_of
from llm_fleet.rules.file_systems import check_mount_source
from llm_fleet.rules.problem import is_unresolved, raise_problems
from llm_fleet.spec.references import KEY, Key
from llm_fleet.spec.storage import ExistingLustre, ExistingOpenZfs

_ONE_GROUP = (
    "The only source is one security group, of the file system or of its clients. EFA has no ports: FSx "
    "requires all traffic between the two. No IP address is allowed."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystemKind:
    """The ports and protocols of one kind of file system."""

    name: str
    """E.g. `FSx for Lustre`."""
    ports: tuple[PortRange, ...]
    servers_talk: bool
    """Whether there are several servers, which connect to each other and back to clients."""


LUSTRE = "FSx for Lustre"
OPEN_ZFS = "FSx for OpenZFS"


def lustre_kind(*, efa_enabled: bool) -> FileSystemKind:
    """Return Lustre's ports: LNet on TCP, or any traffic with EFA, which has no ports."""
    ranges = tuple(PortRange(protocol="tcp", first=first, last=last) for first, last in lustre_limits().ports)
    return FileSystemKind(name=LUSTRE, ports=(ALL_TRAFFIC,) if efa_enabled else ranges, servers_talk=True)


def open_zfs_kind() -> FileSystemKind:
    """Return the ports of NFS servers."""
    ranges = open_zfs_limits().ports
    ports = tuple(PortRange(protocol=p, first=first, last=last) for p in ("tcp", "udp") for first, last in ranges)
    return FileSystemKind(name=OPEN_ZFS, ports=ports, servers_talk=False)


class FileSystemPorts(Construct):
    """Opens the ports of a file system's own security group, rule by rule, each a resource of its own.

    Resources of their own, because the file system must wait for them: FSx tests its port when it is created. The rules
    of clients of another stack are in that stack, so that a short-lived cluster deletes them with itself, and storage
    never depends on a cluster.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        security_group: ec2.ISecurityGroup,
        kind: FileSystemKind,
        owner: str,
        network_stack: cdk.Stack | None = None,
    ) -> None:
        """Use the file system's `security_group`.

        `owner`: the file system's construct id, for the rules' descriptions. `network_stack`: the stack of the file
        system's network, which cannot depend on the file system's group and so has no rules that refer to it.
        """
        super().__init__(scope, id)
        self._network_stack = network_stack
        self._group = security_group
        self._kind = kind
        self._owner = owner
        self._clients: set[str] = set()

    def allow_servers(self) -> Construct:
        """Allow traffic between the servers of the file system, and return the rules."""
        rules = Construct(self, "Servers")
        for port in self._kind.ports:
            self._pair(rules, port, source=self._group, target=self._group, what="between the servers of")
        return rules

    def allow_clients(self, security_group: ec2.ISecurityGroup, *, here: bool = False) -> Construct | None:
        """Allow clients and return the rules; `None` if they are allowed already.

        The rules are in the stack of `security_group` when that is another one, unless `here` is set. Those of a group
        given by its id are here: each stack may import it again, and EC2 rejects a duplicate rule.
        """
        imported = not is_unresolved(security_group.security_group_id)
        key = security_group.security_group_id if imported else security_group.node.addr
        if key in self._clients or security_group.security_group_id == self._group.security_group_id:
            return None
        self._clients.add(key)
        rules = self._scope_of(security_group, key if imported else key[-8:], here=here, imported=imported)
        for port in self._kind.ports:
            self._pair(rules, port, source=security_group, target=self._group, what="from clients to")
            if self._kind.servers_talk:
                self._pair(rules, port, source=self._group, target=security_group, what="back to clients of")
        return rules

    def _scope_of(self, security_group: ec2.ISecurityGroup, key: str, *, here: bool, imported: bool) -> Construct:
        theirs = cdk.Stack.of(security_group)
        if here:
            return Construct(self, "Clients")
        if imported or theirs in (cdk.Stack.of(self), self._network_stack):
            return Construct(self, f"Clients{key}")
        return Construct(theirs, f"{self._kind.name.replace(' ', '')}Clients{self.node.addr[-8:]}{key}")

    def _pair(
        self, scope: Construct, port: PortRange, *, source: ec2.ISecurityGroup, target: ec2.ISecurityGroup, what: str
    ) -> None:
        """Both rules: egress from the source's group, if it is created here, and ingress to the target's group."""
        inward = "Back" if target is not self._group else ""
        description = f"{self._kind.name}: {what} {self._owner}"
        if accepts_egress_rules(source):
            egress_rule(scope, f"{port.name}{inward}Out", source, target, port, what=description)
        ingress = ingress_rule(scope, f"{port.name}{inward}In", source, target, port, what=description)
        if port == ALL_TRAFFIC:
            acknowledge(ingress, _ONE_GROUP, "NIST.800.53.R5-EC2RestrictedCommonPorts")


class FileSystemAccess(Construct):
    """The subnet of a file system and its own security group, open to the clients of its network."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        network: Network,
        availability_zone_id: str | None,
        kind: FileSystemKind,
        removal_policy: cdk.RemovalPolicy,
    ) -> None:
        """Make the group and its rules."""
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
            description=rule_description(f"{kind.name}: {scope.node.id}"),
            # The CDK's default would allow all egress, and drop the specific rules of this file.
            allow_all_outbound=False,
        )
        group.apply_removal_policy(removal_policy)
        hold(group)
        self.security_group: ec2.ISecurityGroup = group
        """The file system's own group."""
        self.connections = ec2.Connections(security_groups=[group], default_port=_default_port(kind.ports))
        """The group's connections."""
        self.ports = FileSystemPorts(
            self,
            "Ports",
            security_group=group,
            kind=kind,
            owner=scope.node.id,
            network_stack=cdk.Stack.of(network.security_group),
        )
        """The clients that may reach it."""
        made = [self.ports.allow_clients(network.security_group, here=True)]
        if kind.servers_talk:
            made.append(self.ports.allow_servers())
        self._rules = [rules for rules in made if rules is not None]

    def carry(self, file_system: cdk.CfnResource) -> None:
        """Make `file_system` depend on every rule, and retain or delete both together."""
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


class Mountable(Construct):
    """A file system that clients with an allowed security group can mount, of this app or imported."""

    _ports: FileSystemPorts | None = None

    def __init__(self, scope: Construct, id: str) -> None:
        """Subclasses create or import it, and then set the attributes that are declared here."""
        super().__init__(scope, id)
        self.file_system_id: str
        """The id, `fs-…`."""
        self.dns_name: str
        """The name that clients mount."""
        self.availability_zone_id: str | None
        """Its AZ id, e.g. `usw2-az4`; `None` if unknown."""

    def allow_mount_from(self, security_group: ec2.ISecurityGroup) -> None:
        """Open the ports to clients in `security_group`, and back if servers connect to clients. Idempotent.

        The network's own group is allowed already. The rules are in the stack of `security_group` and are deleted with
        it; those of a group imported by its id, or of the network's own stack, are in the file system's stack. Does
        nothing for an existing file system without a given security group: its ports must be open already.
        """
        if self._ports is not None:
            self._ports.allow_clients(security_group)


class MountableLustre(Mountable):
    """An FSx for Lustre file system, of this app or imported."""

    mount_name: str
    """The second half of the mount source, `<dns_name>@tcp:/<mount_name>`; generated by the service."""
    efa_enabled: bool
    """Whether clients may reach it over EFA."""


class MountableOpenZfs(Mountable):
    """An FSx for OpenZFS file system, of this app or imported."""

    volume_id: str | None
    """The volume that clients mount, `fsvol-…`: ParallelCluster requires it; `None` if unknown."""


@jsii.implements(ec2.IConnectable)
class FileSystem(Mountable):
    """A file system that is created here, in its own security group. Subclasses create it with `_make`."""

    resource: fsx.CfnFileSystem
    """The L1 beneath."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        network: Network,
        availability_zone_id: str | None,
        kind: FileSystemKind,
        removal_policy: cdk.RemovalPolicy,
    ) -> None:
        """Create its dependencies, in a compute subnet of `network`."""
        super().__init__(scope, id)
        self._removal_policy = removal_policy
        self._access = FileSystemAccess(
            self,
            "Access",
            network=network,
            availability_zone_id=availability_zone_id,
            kind=kind,
            removal_policy=removal_policy,
        )
        self._ports = self._access.ports

    def _make(self, *, encryption_key: Key | None, **properties: Any) -> None:
        self.resource = fsx.CfnFileSystem(
            self,
            "Resource",
            subnet_ids=[self._access.subnet_id],
            security_group_ids=[self._access.security_group.security_group_id],
            kms_key_id=None if encryption_key is None else KEY.name_of(encryption_key),
            tags=[cdk.CfnTag(key="Name", value=self.node.path)],
            **properties,
        )
        self._access.carry(self.resource)
        self.file_system_id = self.resource.ref
        self.dns_name = self.resource.attr_dns_name
        self.availability_zone_id = self._access.availability_zone_id

    @property
    def security_group(self) -> ec2.ISecurityGroup:
        """The group of the file system's own interfaces."""
        return self._access.security_group

    @property
    def connections(self) -> ec2.Connections:
        """The connections of `security_group`; prefer `allow_mount_from`, which opens every port that is needed."""
        return self._access.connections


class ImportedFileSystem(Mountable):
    """An existing file system with the attributes that were given. Nothing is looked up, and only rules are created."""

    def __init__(
        self, scope: Construct, id: str, existing: ExistingLustre | ExistingOpenZfs, *, kind: FileSystemKind
    ) -> None:
        """Import it. Raises `FleetError` for invalid values."""
        raise_problems(check_mount_source(existing), subject=f"{scope.node.path}/{id}")
        super().__init__(scope, id)
        stack = cdk.Stack.of(self)
        self.file_system_id = existing.file_system_id
        self.dns_name = existing.dns_name or f"{existing.file_system_id}.fsx.{stack.region}.{stack.url_suffix}"
        self.availability_zone_id = existing.availability_zone_id
        group = security_group_of(self, "SecurityGroup", existing.security_group)
        self._ports = (
            None if group is None else FileSystemPorts(self, "Ports", security_group=group, kind=kind, owner=id)
        )


def next_to_primary(construct: IConstruct) -> Iterator[IDependable]:
    """Return the resources of `construct` except its primary one: rules of a file system, policies of a role."""
    primary = construct.node.default_child
    yield from (child for child in construct.node.children if child is not primary)
