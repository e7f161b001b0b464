"""What an endpoint's model may do and reach: permissions, role, security group."""

from collections.abc import Sequence
from typing import cast

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.acknowledge import acknowledge_wildcards
from llm_fleet.iam.resource_permissions import pull_images, read_bucket
from llm_fleet.iam.statements import BucketAccess, Permission, Place, reasons_of, statement_of
from llm_fleet.sagemaker.endpoint.render_endpoint import EndpointPlan
from llm_fleet.spec.endpoint import EndpointModelSource

_METRICS = "/aws/sagemaker/*"


def endpoint_permissions(
    plan: EndpointPlan, place: Place, *, log_group_name: str, in_network: bool, volume_key_arn: str | None
) -> list[Permission]:
    """Return the statements for what `plan` asks, each with its reason."""
    return [
        *pull_images(
            [plan.repository_arn(partition=place.partition)],
            reason="SageMaker pulls the container's image with this role, out of this repository only",
        ),
        *_model(plan, place),
        *_sight(place, log_group_name),
        *(_network(place) if in_network else ()),
        *(_volume_key(volume_key_arn) if volume_key_arn else ()),
    ]


def _model(plan: EndpointPlan, place: Place) -> Sequence[Permission]:
    found = plan.bucket_and_path
    if found is None:
        return ()
    bucket, path = found
    bucket_arn = f"arn:{place.partition}:s3:::{bucket}"
    if plan.spec.model.source is EndpointModelSource.S3:
        access = BucketAccess(bucket_arn=bucket_arn, prefix=path, key_arn=plan.spec.model.key_arn)
        return read_bucket("Model", access, reason="SageMaker copies the model's files to each instance")
    key = Permission(
        sid="ModelKey",
        actions=("kms:Decrypt",),
        resources=(plan.spec.model.key_arn or "",),
        reason="the bucket is encrypted with a key of its own",
    )
    return (
        Permission(
            sid="ModelArchive",
            actions=("s3:GetObject",),
            resources=(f"{bucket_arn}/{path}",),
            reason="SageMaker copies this one archive to each instance and unpacks it there",
        ),
        *((key,) if plan.spec.model.key_arn else ()),
    )


def _sight(place: Place, log_group_name: str) -> Sequence[Permission]:
    group = place.arn("logs", f"log-group:{log_group_name}")
    return (
        Permission(
            sid="Log",
            actions=("logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"),
            resources=(group, f"{group}:*"),
            reason="each instance writes a stream of the endpoint's log group, which is there before",
        ),
        Permission(
            sid="Metrics",
            actions=("cloudwatch:PutMetricData",),
            resources=("*",),
            conditions={"StringLike": {"cloudwatch:namespace": _METRICS}},
            reason="instances tell of processor, memory and GPU; the action knows no resource, so the namespace is "
            "limited",
        ),
    )


def _network(place: Place) -> Sequence[Permission]:
    """Source: SageMaker's guide, execution roles, CreateModel with a VPC; which writes `*` for all of them."""
    return (
        Permission(
            sid="NetworkInterfaces",
            actions=(
                "ec2:CreateNetworkInterface",
                "ec2:CreateNetworkInterfacePermission",
                "ec2:DeleteNetworkInterface",
                "ec2:DeleteNetworkInterfacePermission",
            ),
            resources=(
                place.arn("ec2", "network-interface/*"),
                place.arn("ec2", "security-group/*"),
                place.arn("ec2", "subnet/*"),
            ),
            reason="each instance gets an interface in the compute subnets; their ids do not exist before",
        ),
        Permission(
            sid="NetworkLookup",
            actions=(
                "ec2:DescribeDhcpOptions",
                "ec2:DescribeNetworkInterfaces",
                "ec2:DescribeSecurityGroups",
                "ec2:DescribeSubnets",
                "ec2:DescribeVpcs",
            ),
            resources=("*",),
            reason="SageMaker looks at the VPC before it places an instance; EC2's Describe actions know no resource",
        ),
    )


def _volume_key(key_arn: str) -> Sequence[Permission]:
    """As documented for jobs, SageMaker makes the grant with this role. assumption: endpoint-role-makes-the-grant"""
    return (
        Permission(
            sid="VolumeKey",
            actions=("kms:CreateGrant",),
            resources=(key_arn,),
            conditions={"Bool": {"kms:GrantIsForAWSResource": "true"}},
            reason="the volumes of the instances are encrypted with this key, by a grant for EBS",
        ),
    )


_PRINCIPAL = "sagemaker.amazonaws.com"


class EndpointRole(Construct):
    """An execution role with these permissions and no other.

    Its policy is a managed one: CloudFormation makes it before the role, so no instance starts without it. The trust
    has no `aws:SourceAccount` condition: SageMaker's page on the confused deputy does not list endpoints among what
    sends that key, and a condition on a key that is not sent would keep every endpoint from being created.
    assumption: sagemaker-sends-no-source-account
    """

    def __init__(self, scope: Construct, id: str, *, description: str, permissions: Sequence[Permission]) -> None:
        """Make the role."""
        super().__init__(scope, id)
        self.permissions: tuple[Permission, ...] = tuple(permissions)
        """The statements, each with its reason."""
        policy = iam.ManagedPolicy(
            self, "Policy", description=description, statements=[*map(statement_of, self.permissions)]
        )
        acknowledge_wildcards(policy, lambda: reasons_of(self.permissions))
        role = iam.Role(
            self,
            "Resource",
            description=description,
            assumed_by=cast(iam.IPrincipal, iam.ServicePrincipal(_PRINCIPAL)),
            managed_policies=[cast(iam.IManagedPolicy, policy)],
        )
        self.role: iam.IRole = cast(iam.IRole, role)
        """The role itself."""


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
