"""What exists already and a fleet file names by id, ARN or name. Each function returns `None` when none is named."""

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct


def imported_key(scope: Construct, id: str, arn: str | None) -> kms.IKey | None:
    """Return the KMS key of that ARN."""
    return kms.Key.from_key_arn(scope, id, arn) if arn else None


def imported_role(scope: Construct, id: str, arn: str | None) -> iam.IRole | None:
    """Return the role of that ARN, which stays as it is: no policy is added to it."""
    return iam.Role.from_role_arn(scope, id, arn, mutable=False) if arn else None


def imported_policy(scope: Construct, id: str, arn: str | None) -> iam.IManagedPolicy | None:
    """Return the managed policy of that ARN."""
    return iam.ManagedPolicy.from_managed_policy_arn(scope, id, arn) if arn else None


def imported_security_group(scope: Construct, id: str, group_id: str | None) -> ec2.ISecurityGroup | None:
    """Return the security group of that id."""
    return ec2.SecurityGroup.from_security_group_id(scope, id, group_id) if group_id else None


def imported_log_group(scope: Construct, id: str, name: str | None) -> logs.ILogGroup | None:
    """Return the log group of that name."""
    return logs.LogGroup.from_log_group_name(scope, id, name) if name else None


def imported_subnet(scope: Construct, id: str, subnet_id: str) -> ec2.ISubnet:
    """Return the subnet of that id, of which nothing else is known."""
    subnet = ec2.Subnet.from_subnet_id(scope, id, subnet_id)
    cdk.Annotations.of(subnet).acknowledge_warning(
        "@aws-cdk/aws-ec2:noSubnetRouteTableId", "no route is added to it: its routes are its owner's"
    )
    return subnet
