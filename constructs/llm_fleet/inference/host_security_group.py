"""The security group of hosts, whose tasks have groups of their own."""

from aws_cdk import aws_ec2 as ec2
from constructs import Construct


class HostSecurityGroup(ec2.SecurityGroup):
    """Lets nothing in, and HTTPS out: to ECS, S3, the registries and the repositories of packages.

    Name servers and clock of the VPC are not subject to security groups.
    """

    def __init__(self, scope: Construct, id: str, *, vpc: ec2.IVpc) -> None:
        """Make the group in `vpc`."""
        super().__init__(
            scope,
            id,
            vpc=vpc,
            description="Hosts of an inference service: nothing in, HTTPS out",
            allow_all_outbound=False,
        )
        self.add_egress_rule(
            ec2.Peer.any_ipv4(), ec2.Port.HTTPS, "services of AWS, image registries, package repositories"
        )
