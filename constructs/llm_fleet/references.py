"""CDK objects for resources that a spec names by object, id, ARN or name; strong references, and outputs of stacks.

Each function whose name ends in `_of` returns `None` when no resource is named.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.rules.problem import is_unresolved
from llm_fleet.spec.references import Bucket, Guard, Key, LogGroup, SecurityGroup, Subnet, Topic

if TYPE_CHECKING:
    from aws_cdk import aws_sns as sns


def region_of(scope: Construct) -> str | None:
    """Return the region of the stack that `scope` is in; `None` where it is a token."""
    region = cdk.Stack.of(scope).region
    return None if is_unresolved(region) else region


def key_of(scope: Construct, id: str, given: Key | None) -> kms.IKey | None:
    """Return the KMS key; one that is named by its ARN is imported as `id`."""
    return kms.Key.from_key_arn(scope, id, given) if isinstance(given, str) else cast("kms.IKey | None", given)


def security_group_of(scope: Construct, id: str, given: SecurityGroup | None) -> ec2.ISecurityGroup | None:
    """Return the security group; one that is named by its id is imported as `id`."""
    if isinstance(given, str):
        return ec2.SecurityGroup.from_security_group_id(scope, id, given)
    return cast("ec2.ISecurityGroup | None", given)


def guard_of(scope: Construct, id: str, given: Guard | None) -> ec2.IConnectable | None:
    """Return the connections for inbound rules; a security group that is named by its id is imported as `id`."""
    if isinstance(given, str):
        return ec2.SecurityGroup.from_security_group_id(scope, id, given)
    return cast("ec2.IConnectable | None", given)


def log_group_of(scope: Construct, id: str, given: LogGroup | None) -> logs.ILogGroup | None:
    """Return the log group; one that is named is imported as `id`."""
    if isinstance(given, str):
        return logs.LogGroup.from_log_group_name(scope, id, given)
    return cast("logs.ILogGroup | None", given)


def bucket_of(scope: Construct, given: Bucket | None) -> s3.IBucket | None:
    """Return the bucket; one that is named, or given by its `s3://` address, is imported once into a scope."""
    if not isinstance(given, str):
        return cast("s3.IBucket | None", given)
    name = given.removeprefix("s3://").strip("/")
    found = scope.node.try_find_child(f"Bucket-{name}")
    return cast("s3.IBucket", found) if found else s3.Bucket.from_bucket_name(scope, f"Bucket-{name}", name)


def topic_of(scope: Construct, id: str, given: Topic | None) -> "sns.ITopic | None":
    """Return the SNS topic; one that is named by its ARN is imported as `id`."""
    if not isinstance(given, str):
        return cast("sns.ITopic | None", given)
    from aws_cdk import aws_sns as sns  # Imported only here: a fleet of one cluster has no topic.

    return sns.Topic.from_topic_arn(scope, id, given)


def role_of(scope: Construct, id: str, arn: str | None) -> iam.IRole | None:
    """Return the role of that ARN, which is not changed: no policy is added to it."""
    return iam.Role.from_role_arn(scope, id, arn, mutable=False) if arn else None


def subnet_of(scope: Construct, id: str, given: Subnet) -> ec2.ISubnet:
    """Return the subnet; one that is named by its id is imported as `id`, without other attributes."""
    if not isinstance(given, str):
        return cast("ec2.ISubnet", given)
    subnet = ec2.Subnet.from_subnet_id(scope, id, given)
    cdk.Annotations.of(subnet).acknowledge_warning(
        "@aws-cdk/aws-ec2:noSubnetRouteTableId", "no route is added to it: its routes are its owner's"
    )
    return subnet


def add_outputs(scope: Construct, outputs: Mapping[str, tuple[str | None, str]]) -> None:
    """Add a stack output for each of `outputs`, with its value and its description; none for `None`."""
    for name, (value, description) in outputs.items():
        if value is not None:
            cdk.CfnOutput(scope, name, value=value, description=description)


def hold(*resources: Construct) -> None:
    """Let other stacks use the values of `resources` by strong references, whatever the app's feature flag is.

    The flag `@aws-cdk/core:defaultCrossStackReferences` is `weak` in an app that `cdk init` creates. A file system, key
    or subnet that is replaced would then never reach the clusters of another stack: a weak reference is read again
    only when the template that holds it changes. With an export in use, CloudFormation rejects the replacement or
    deletion; a resource that is retained may then leave a second, new copy
    (assumption: cloudformation-keeps-the-new-copy-of-a-refused-replacement).
    To use weak references instead, call afterwards `CrossStackReferences.of(resource).produce(...)`.

    With a weak reference, an update might also replace the resource that has it, e.g. a file system for its subnet;
    assumption: cloudformation-plans-weak-references-as-replacements

    Each of `resources` is a resource or a construct with a default child.
    Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-getstackoutput.html
    """
    for resource in resources:
        cdk.CrossStackReferences.of(resource).produce(cdk.ReferenceStrength.STRONG)
