"""The security group of an endpoint's instances."""

from aws_cdk import aws_ec2 as ec2
from constructs import Construct


class EndpointSecurityGroup(ec2.SecurityGroup):
    """Lets nothing in, and HTTPS out: to S3 for the model, and to the Hub where a route leads there.

    Callers reach an endpoint through SageMaker's own address, not through this group.
    """

    def __init__(self, scope: Construct, id: str, *, vpc: ec2.IVpc) -> None:
        """Make the group in `vpc`."""
        super().__init__(
            scope,
            id,
            vpc=vpc,
            description="Instances of a SageMaker endpoint: nothing in, HTTPS out",
            allow_all_outbound=False,
        )
        self.add_egress_rule(
            ec2.Peer.any_ipv4(), ec2.Port.HTTPS, "S3, services of AWS, and the Hub where a route leads"
        )
