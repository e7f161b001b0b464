"""The security group of a notebook instance."""

from aws_cdk import aws_ec2 as ec2
from constructs import Construct


class NotebookSecurityGroup(ec2.SecurityGroup):
    """Lets nothing in, and HTTPS out. People come by SageMaker's own way, which needs no open port."""

    def __init__(self, scope: Construct, id: str, *, vpc: ec2.IVpc) -> None:
        """Make the group in `vpc`."""
        super().__init__(
            scope,
            id,
            vpc=vpc,
            description="Notebook instance: nothing in, HTTPS out",
            allow_all_outbound=False,
        )
        self.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.HTTPS, "services of AWS, repositories of code and packages")
