"""Where a database for accounting stands: its subnets and its security group."""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_rds as rds
from constructs import Construct

from llm_fleet.held import hold
from llm_fleet.network.naming import rule_description
from llm_fleet.network.network import Network


class DatabasePlace(Construct):
    """A subnet group, and a security group that lets nobody in until a cluster asks."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        network: Network,
        subnets: Sequence[ec2.ISubnet],
        removal_policy: cdk.RemovalPolicy,
    ) -> None:
        """Make both in the network's VPC, to be kept or deleted with the database."""
        super().__init__(scope, id)
        owner = f"Slurm accounting database {scope.node.id}"
        group = ec2.SecurityGroup(
            self,
            "SecurityGroup",
            vpc=network.vpc,
            description=rule_description(owner),
            # It opens no connection, and the CDK's default would let it open any.
            allow_all_outbound=False,
        )
        group.apply_removal_policy(removal_policy)
        hold(group)
        self.security_group: ec2.ISecurityGroup = group
        self.subnet_group = rds.CfnDBSubnetGroup(
            self,
            "SubnetGroup",
            db_subnet_group_description=owner,
            subnet_ids=[subnet.subnet_id for subnet in subnets],
        )
        self.subnet_group.apply_removal_policy(removal_policy)
        if removal_policy != cdk.RemovalPolicy.DESTROY:
            network.keep()
