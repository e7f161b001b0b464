"""Security groups, and rules from one to another."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct, DependencyGroup, IConstruct, IDependable

from llm_fleet.acknowledge import acknowledge
from llm_fleet.references import hold
from llm_fleet.rules.codes import Code
from llm_fleet.rules.network_layout import ANYWHERE
from llm_fleet.rules.problem import Problem, is_unresolved, raise_problems


def rule_description(text: str) -> str:
    """Return `text` as EC2 accepts it for the description of a security group or a rule of one.

    Source: botocore's ec2 model, `UserIdGroupPair.Description`; a test compares.
    """
    return re.sub(r"[^a-zA-Z0-9 ._\-:/()#,@\[\]+=;{}!$*]", "-", text)[:_DESCRIPTION_LENGTH]


_DESCRIPTION_LENGTH = 255


def node_connections(security_groups: Sequence[ec2.ISecurityGroup], *, subject: str, remedy: str) -> ec2.Connections:
    """Return the connections of nodes in `security_groups`.

    Raises `FleetError` (LF572) for the cluster `subject` when there are none; `remedy`: how to add some.
    """
    if not security_groups:
        problem = Problem(
            code=Code.CLUSTER_WITHOUT_CONNECTIONS,
            message="the cluster has no security group to open ports to",
            path=("connections",),
            remedy=remedy,
        )
        raise_problems([problem], subject=subject)
    return ec2.Connections(security_groups=list(security_groups))


class HttpsOutSecurityGroup(ec2.SecurityGroup):
    """A group without ingress, with HTTPS egress. Security groups do not apply to the VPC's DNS servers and clock."""

    def __init__(self, scope: Construct, id: str, *, vpc: ec2.IVpc, description: str, reaches: str) -> None:
        """Create the group; `reaches`: the targets of its members' connections, for the description of the rule."""
        super().__init__(scope, id, vpc=vpc, description=description, allow_all_outbound=False)
        self.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.HTTPS, rule_description(reaches))


@dataclass(frozen=True, slots=True, kw_only=True)
class PortRange:
    """Ports of one protocol; `-1` for all traffic of all protocols."""

    protocol: str = "tcp"
    first: int | None = None
    last: int | None = None

    @property
    def name(self) -> str:
        """A part of construct ids, e.g. `Tcp988`."""
        return "AllTraffic" if self.protocol == "-1" else f"{self.protocol.capitalize()}{self.first}"


ALL_TRAFFIC = PortRange(protocol="-1")


def egress_rule(
    scope: Construct, id: str, source: ec2.ISecurityGroup, target: ec2.ISecurityGroup, ports: PortRange, *, what: str
) -> ec2.CfnSecurityGroupEgress:
    """Return the outbound rule that lets members of `source` open connections to those of `target`."""
    return ec2.CfnSecurityGroupEgress(
        scope,
        id,
        group_id=source.security_group_id,
        destination_security_group_id=target.security_group_id,
        ip_protocol=ports.protocol,
        from_port=ports.first,
        to_port=ports.last,
        description=rule_description(what),
    )


def ingress_rule(
    scope: Construct, id: str, source: ec2.ISecurityGroup, target: ec2.ISecurityGroup, ports: PortRange, *, what: str
) -> ec2.CfnSecurityGroupIngress:
    """Return the inbound rule that allows connections from members of `source` to those of `target`."""
    return ec2.CfnSecurityGroupIngress(
        scope,
        id,
        group_id=target.security_group_id,
        source_security_group_id=source.security_group_id,
        ip_protocol=ports.protocol,
        from_port=ports.first,
        to_port=ports.last,
        description=rule_description(what),
    )


def allow_traffic(
    home: IConstruct, source: ec2.ISecurityGroup, target: ec2.ISecurityGroup, *, what: str, port: int | None = None
) -> Construct:
    """Let `source` open connections to `target`, on a TCP `port` or on all ports, and return the rules.

    The rules are in the stack of `home`, so that the CDK's own choice causes no circular dependency. Clusters that
    need the same rules share them: EC2 rejects a rule that exists already. Outbound rules of an existing `source` are
    not changed; see `accepts_egress_rules`.
    """
    stack = cdk.Stack.of(home)
    id = f"LlmFleetNodePorts{_key(source)}{_key(target)}{port or ''}"
    known = stack.node.try_find_child(id)
    if isinstance(known, Construct):
        return known
    rules = Construct(stack, id)
    ports = ALL_TRAFFIC if port is None else PortRange(first=port, last=port)
    if accepts_egress_rules(source):
        egress_rule(rules, "Out", source, target, ports, what=what)
    ingress = ingress_rule(rules, "In", source, target, ports, what=what)
    if port is None:
        acknowledge(
            ingress,
            "nodes of one cluster need every port of each other, for Slurm and for EFA, which has no ports; the rule "
            "names their security group and nothing else",
            "NIST.800.53.R5-EC2RestrictedCommonPorts",
        )
    return rules


def accepts_egress_rules(group: ec2.ISecurityGroup) -> bool:
    """Return whether egress rules are added to `group`: not to an existing one imported by its id.

    Such a group usually allows all outbound traffic, and CloudFormation removes that rule when it adds an outbound
    rule. The CDK does not change imported groups for the same reason.
    assumption: cloudformation-egress-removes-everything-out
    """
    return is_unresolved(group.security_group_id) or bool(group.node.try_get_context(_OWN_RULES))


_OWN_RULES = "llm-fleet:own-rules"
"""Key of the context of an imported group whose rules are all of llm-fleet's stacks."""


def _key(group: ec2.ISecurityGroup) -> str:
    """Return a key that identifies `group`: its id if known, even if it is imported several times."""
    return group.node.addr[-8:] if is_unresolved(group.security_group_id) else group.security_group_id


def _open_anywhere(scope: Construct, group_id: str, ports: PortRange) -> None:
    for half, cidr in zip(("AnywhereEgressLower", "AnywhereEgressUpper"), ANYWHERE, strict=True):
        ec2.CfnSecurityGroupEgress(
            scope,
            half,
            group_id=group_id,
            cidr_ip=cidr,
            ip_protocol=ports.protocol,
            from_port=ports.first,
            to_port=ports.last,
            description="anywhere that a route leads",
        )


def retained_group(scope: Construct, id: str, group_id: str, *, allow_internet: bool) -> ec2.ISecurityGroup:
    """Return the `EfaSecurityGroup` of that id, which a deleted stack retained; see `EfaSecurityGroup.keep`.

    Its self-rules still exist. Those to other addresses were deleted with the stack, and are created here. Unlike a
    group that the user has made, it gets the outbound rules of file systems and databases.
    """
    group = ec2.SecurityGroup.from_security_group_id(scope, id, group_id, allow_all_outbound=False)
    group.node.set_context(_OWN_RULES, True)
    # Two halves, also for HTTPS: a closed network's rule for `0.0.0.0/0` is a part of the retained group.
    _open_anywhere(scope, group_id, ALL_TRAFFIC if allow_internet else PortRange(first=443, last=443))
    return group


class EfaSecurityGroup(ec2.SecurityGroup):
    """A security group whose members exchange all traffic with each other, in both directions, as EFA requires.

    EFA traffic is not IP traffic: only a rule that names the group itself allows it; `0.0.0.0/0` does not. The CDK
    drops such a rule without an error from a group with `allow_all_outbound=True`, its default, so this group is
    created without it and has its rules as separate resources. Other resources can depend on these: FSx tests its port
    as soon as it is created.

    Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html (prepare a security group).
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        vpc: ec2.IVpc,
        description: str = "Nodes and file systems: all traffic among themselves, as EFA needs",
        allow_internet: bool = True,
    ) -> None:
        """Create the group and its self-rules.

        - `vpc`: where it is.
        - `description`: shown in the console; a change replaces the group. Default: its purpose.
        - `allow_internet`: whether members may open connections to any address. Default: they may; without a route to
          the internet, this reaches only the VPC. `False` allows HTTPS only: interface endpoints have addresses of the
          VPC, but S3 has its public ones behind a gateway endpoint.
        """
        super().__init__(scope, id, vpc=vpc, description=description, allow_all_outbound=False)
        hold(self)
        resource = self.node.default_child
        if isinstance(resource, ec2.CfnSecurityGroup):
            resource.tags.set_tag("Name", self.node.path)
        own = cast(ec2.ISecurityGroup, self)
        into = "all traffic from the group itself (EFA, Lustre, Slurm)"
        out_of = "all traffic to the group itself (EFA, Lustre, Slurm)"
        ingress = ingress_rule(self, "SelfIngress", own, own, ALL_TRAFFIC, what=into)
        cdk.Validations.of(ingress).acknowledge(
            cdk.Acknowledgment(
                id="NIST.800.53.R5-EC2RestrictedCommonPorts",
                reason="The only source is the group itself. EFA needs every protocol between its members; no address "
                "outside the group is let in.",
            )
        )
        egress = egress_rule(self, "SelfEgress", own, own, ALL_TRAFFIC, what=out_of)
        if allow_internet:
            _open_anywhere(self, self.security_group_id, ALL_TRAFFIC)
        else:
            self.add_egress_rule(
                ec2.Peer.any_ipv4(), ec2.Port.HTTPS, "endpoints, and S3 at its public addresses behind the gateway"
            )
        self._standing_rules = (ingress, egress)
        self.rules: IDependable = DependencyGroup(ingress, egress)
        """The rules between members. Resources that need them from the start, e.g. a file system, depend on this."""

    def keep(self) -> None:
        """Retain the group and the rules between its members when the stack is deleted. Idempotent."""
        for resource in (self.node.default_child, *self._standing_rules):
            if isinstance(resource, cdk.CfnResource):
                resource.apply_removal_policy(cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE)
