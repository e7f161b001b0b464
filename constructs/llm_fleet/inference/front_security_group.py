"""The security group of a load balancer."""

from collections.abc import Sequence

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.network.network import rule_description
from llm_fleet.rules.inference.front import EVERYBODY

_HTTPS = 443


class FrontSecurityGroup(ec2.SecurityGroup):
    """Lets the named ranges in at the named ports, and nothing out but to targets, and to an issuer of tokens."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        vpc: ec2.IVpc,
        cidrs: Sequence[str],
        ports: Sequence[int],
        fetches_keys: bool,
    ) -> None:
        """Make the group. `fetches_keys`: whether the load balancer must reach the JWKS endpoint of an issuer."""
        super().__init__(
            scope,
            id,
            vpc=vpc,
            description="Load balancer of an inference service: allowed ranges in, targets out",
            allow_all_outbound=False,
        )
        for cidr in cidrs:
            for port in ports:
                who = "everybody on the internet, as asked for" if cidr == EVERYBODY else "an allowed range"
                self.add_ingress_rule(ec2.Peer.ipv4(cidr), ec2.Port.tcp(port), rule_description(who))
        if EVERYBODY in cidrs:
            acknowledge(
                self,
                f"{EVERYBODY} was asked for by name, as `allowed_cidrs`; nobody without credentials gets further than "
                "the load balancer",
                "AwsSolutions-EC23",
            )
        # A private load balancer: assumption: private-load-balancer-fetches-keys-by-nat
        if fetches_keys:
            self.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(_HTTPS), "the keys of the issuer of tokens")

    def allow_targets(self, targets: ec2.ISecurityGroup, port: int) -> None:
        """Let the load balancer reach members of `targets` at `port`, both ways; to be called once for a group."""
        ec2.CfnSecurityGroupEgress(
            self,
            "ToTargets",
            group_id=self.security_group_id,
            destination_security_group_id=targets.security_group_id,
            ip_protocol="tcp",
            from_port=port,
            to_port=port,
            description="requests and health checks",
        )
        ec2.CfnSecurityGroupIngress(
            self,
            "AtTargets",
            group_id=targets.security_group_id,
            source_security_group_id=self.security_group_id,
            ip_protocol="tcp",
            from_port=port,
            to_port=port,
            description="requests and health checks of the load balancer",
        )
