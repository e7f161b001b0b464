"""The VPC itself, and its second CIDR block."""

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.acknowledge import acknowledge


def make_vpc(scope: Construct, *, cidr: str, compute_cidr: str, name: str) -> tuple[ec2.CfnVPC, ec2.CfnVPCCidrBlock]:
    """Make a VPC of `cidr` and associate `compute_cidr`; `name` is its Name tag."""
    vpc = ec2.CfnVPC(
        scope,
        "Resource",
        cidr_block=cidr,
        enable_dns_support=True,
        enable_dns_hostnames=True,  # private DNS names of endpoints, and of FSx, need it
        tags=[cdk.CfnTag(key="Name", value=name)],
    )
    acknowledge(
        vpc,
        "CloudFormation cannot take rules out of a VPC's default group; only a custom resource could. Nothing is put "
        "into it: every network interface here is made with a group of its own.",
        "NIST.800.53.R5-VPCDefaultSecurityGroupClosed",
    )
    return vpc, ec2.CfnVPCCidrBlock(scope, "ComputeCidr", vpc_id=vpc.ref, cidr_block=compute_cidr)
