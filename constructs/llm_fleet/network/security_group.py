"""The security group that EFA needs."""

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct, DependencyGroup, IDependable

from llm_fleet.held import hold

_ALL_PROTOCOLS = "-1"
_ANYWHERE = {"AnywhereEgressLower": "0.0.0.0/1", "AnywhereEgressUpper": "128.0.0.0/1"}
"""All addresses in two halves. CloudFormation takes one rule for `0.0.0.0/0` for the default rule of EC2, and takes it
away as soon as any stack adds another rule outward, e.g. one to a file system.
assumption: cloudformation-egress-removes-everything-out"""


class EfaSecurityGroup(ec2.SecurityGroup):
    """A security group whose members exchange all traffic with each other, both ways, as EFA demands.

    EFA's traffic is no IP traffic: only a rule that names the group itself lets it out; `0.0.0.0/0` does not. The CDK
    drops such a rule without an error from a group made with `allow_all_outbound=True`, its default, so this group is
    made without it and carries its rules as resources of their own. On those others can wait: FSx tests its port as
    soon as it is made.

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
        """Make the group and its standing rules.

        - `vpc`: where it is.
        - `description`: what people read in the console; a change replaces the group. Default: says what it is for.
        - `allow_internet`: whether members may open connections to any address. Default: they may, which without a
          route out reaches no further than the VPC. `False` leaves HTTPS only: interface endpoints have addresses of
          the VPC, but S3 keeps its public ones behind a gateway endpoint.
        """
        super().__init__(scope, id, vpc=vpc, description=description, allow_all_outbound=False)
        hold(self)
        group_id = self.security_group_id
        resource = self.node.default_child
        if isinstance(resource, ec2.CfnSecurityGroup):
            resource.tags.set_tag("Name", self.node.path)
        ingress = ec2.CfnSecurityGroupIngress(
            self,
            "SelfIngress",
            group_id=group_id,
            source_security_group_id=group_id,
            ip_protocol=_ALL_PROTOCOLS,
            description="all traffic from the group itself (EFA, Lustre, Slurm)",
        )
        cdk.Validations.of(ingress).acknowledge(
            cdk.Acknowledgment(
                id="NIST.800.53.R5-EC2RestrictedCommonPorts",
                reason="The only source is the group itself. EFA needs every protocol between its members; no address "
                "outside the group is let in.",
            )
        )
        egress = ec2.CfnSecurityGroupEgress(
            self,
            "SelfEgress",
            group_id=group_id,
            destination_security_group_id=group_id,
            ip_protocol=_ALL_PROTOCOLS,
            description="all traffic to the group itself (EFA, Lustre, Slurm)",
        )
        if allow_internet:
            for half, cidr in _ANYWHERE.items():
                ec2.CfnSecurityGroupEgress(
                    self,
                    half,
                    group_id=group_id,
                    cidr_ip=cidr,
                    ip_protocol=_ALL_PROTOCOLS,
                    description="anywhere that a route leads",
                )
        else:
            self.add_egress_rule(
                ec2.Peer.any_ipv4(), ec2.Port.HTTPS, "endpoints, and S3 at its public addresses behind the gateway"
            )
        self._standing_rules = (ingress, egress)
        self.rules: IDependable = DependencyGroup(ingress, egress)
        """The rules between members. Whatever needs them at once, a file system above all, depends on this."""

    def keep(self) -> None:
        """Keep the group and the rules between its members when the stack is deleted. Idempotent."""
        for resource in (self.node.default_child, *self._standing_rules):
            if isinstance(resource, cdk.CfnResource):
                resource.apply_removal_policy(cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE)
