"""A CDK app with two stacks for the test of the real CLI: a network, and resources that use it."""

from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from tools.synth_environment import cdk_context


class Base(cdk.Stack):
    """A VPC without NAT and a bucket."""

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            max_azs=2,
            nat_gateways=0,
            restrict_default_security_group=False,
            subnet_configuration=[ec2.SubnetConfiguration(name="inner", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)],
        )
        self.bucket = s3.Bucket(self, "Data", removal_policy=cdk.RemovalPolicy.DESTROY)


class User(cdk.Stack):
    """A role that can read the other stack's bucket, and a parameter with the bucket's name."""

    def __init__(self, scope: Construct, id: str, *, base: Base, text: str) -> None:
        super().__init__(scope, id)
        service = cast(iam.IPrincipal, iam.ServicePrincipal("ec2.amazonaws.com"))  # jsii's type stubs hide this
        role = iam.Role(self, "Reader", assumed_by=service)
        role.add_to_policy(iam.PolicyStatement(actions=["s3:GetObject"], resources=[base.bucket.arn_for_objects("*")]))
        ssm.StringParameter(self, "Where", string_value=f"{base.bucket.bucket_name} {base.vpc.vpc_id} {text}")
        cdk.CfnOutput(self, "RoleArn", value=role.role_arn)


def small_app(app: cdk.App, text: str = "one") -> None:
    """Synthesize the two stacks in `app`."""
    User(app, "User", base=Base(app, "Base"), text=text)
    app.synth()


if __name__ == "__main__":
    small_app(cdk.App(context=cdk_context()))
