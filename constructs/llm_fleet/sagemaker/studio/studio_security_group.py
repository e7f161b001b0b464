"""The security group of Studio's applications."""

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.network.network import rule_description

_NFS = 2049


class StudioSecurityGroup(ec2.SecurityGroup):
    """Lets HTTPS out, and the home directories' NFS between members where there are any; nothing in.

    Not the network's own group: its members may do anything with each other, and nodes are members. Applications reach
    a cluster by Session Manager, and file systems by rules of theirs. Studio Classic's ports are not open: its server
    and kernels talk to each other, JupyterLab and Code Editor have all in one place.
    """

    def __init__(self, scope: Construct, id: str, *, vpc: ec2.IVpc, home_efs: bool) -> None:
        """Make the group in `vpc`. `home_efs`: whether applications mount home directories."""
        super().__init__(
            scope,
            id,
            vpc=vpc,
            description="Applications of SageMaker Studio: HTTPS out, nothing in",
            allow_all_outbound=False,
        )
        self.add_egress_rule(
            ec2.Peer.any_ipv4(),
            ec2.Port.HTTPS,
            rule_description("endpoints of AWS, and where there is a way out, repositories"),
        )
        if home_efs:
            self._let_nfs_through()

    def _let_nfs_through(self) -> None:
        # The service gives mount targets and applications groups of its own for this; its API asks for rules besides:
        # "NFS traffic over TCP on port 2049 needs to be allowed in both inbound and outbound rules" (CreateDomain).
        group_id = self.security_group_id
        ec2.CfnSecurityGroupIngress(
            self,
            "NfsIn",
            group_id=group_id,
            source_security_group_id=group_id,
            ip_protocol="tcp",
            from_port=_NFS,
            to_port=_NFS,
            description="home directories",
        )
        ec2.CfnSecurityGroupEgress(
            self,
            "NfsOut",
            group_id=group_id,
            destination_security_group_id=group_id,
            ip_protocol="tcp",
            from_port=_NFS,
            to_port=_NFS,
            description="home directories",
        )
