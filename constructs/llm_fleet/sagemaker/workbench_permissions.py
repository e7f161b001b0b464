"""What people who train and serve from a notebook may do. Each statement has its reason; none is AWS's full access.

The actions are those of the developer guide's pages on execution roles (CreateTrainingJob, CreateModel,
CreateNotebookInstance), narrowed to names, buckets, registries and keys; what they let a role do beyond is left out.
"""

from collections.abc import Sequence

from llm_fleet.iam.access import BucketAccess
from llm_fleet.iam.bucket_permissions import change_bucket
from llm_fleet.iam.image_permissions import pull_images
from llm_fleet.iam.permission import Permission, Place

_ENDPOINT_PARTS = ("endpoint", "endpoint-config", "model")


def buckets(accesses: Sequence[BucketAccess]) -> tuple[Permission, ...]:
    """Data, checkpoints, models."""
    reason = "data, source and results of jobs lie there; what a notebook makes, it may delete"
    return tuple(
        permission
        for index, access in enumerate(accesses)
        for permission in change_bucket(f"Bucket{index}", access, reason=reason)
    )


def images(place: Place, accounts: Sequence[str]) -> tuple[Permission, ...]:
    """AWS's own images."""
    return pull_images(
        [place.arn("ecr", "repository/*", account=account) for account in accounts],
        reason="jobs and endpoints pull AWS's Deep Learning Containers, whose repositories are many and grow",
    )


def training_jobs(place: Place, prefixes: Sequence[str]) -> tuple[Permission, ...]:
    """Jobs of certain names."""
    jobs = tuple(place.arn("sagemaker", f"training-job/{prefix}*") for prefix in _as_in_arns(prefixes))
    return (
        Permission(
            sid="TrainingJobs",
            actions=(
                "sagemaker:AddTags",
                "sagemaker:CreateTrainingJob",
                "sagemaker:DescribeTrainingJob",
                "sagemaker:ListTags",
                "sagemaker:StopTrainingJob",
                "sagemaker:UpdateTrainingJob",
            ),
            resources=jobs,
            reason="jobs are made under names that begin like this; no others can be stopped",
        ),
    )


def endpoints(place: Place, prefixes: Sequence[str]) -> tuple[Permission, ...]:
    """Endpoints of certain names, with their configurations and models."""
    found = _as_in_arns(prefixes)
    made = tuple(place.arn("sagemaker", f"{part}/{prefix}*") for part in _ENDPOINT_PARTS for prefix in found)
    return (
        Permission(
            sid="Endpoints",
            actions=(
                "sagemaker:AddTags",
                "sagemaker:CreateEndpoint",
                "sagemaker:CreateEndpointConfig",
                "sagemaker:CreateModel",
                "sagemaker:DeleteEndpoint",
                "sagemaker:DeleteEndpointConfig",
                "sagemaker:DeleteModel",
                "sagemaker:DescribeEndpoint",
                "sagemaker:DescribeEndpointConfig",
                "sagemaker:DescribeModel",
                "sagemaker:InvokeEndpoint",
                "sagemaker:ListTags",
                "sagemaker:UpdateEndpoint",
            ),
            resources=made,
            reason="models are served under names that begin like this, and deleted; no others can be",
        ),
    )


def lists() -> tuple[Permission, ...]:
    """What there is."""
    return (
        Permission(
            sid="Lists",
            actions=(
                "sagemaker:ListEndpointConfigs",
                "sagemaker:ListEndpoints",
                "sagemaker:ListModels",
                "sagemaker:ListTrainingJobs",
            ),
            resources=("*",),
            reason="to find one's own among what there is; lists know no resource",
        ),
    )


def logs_and_metrics(place: Place, prefixes: Sequence[str]) -> tuple[Permission, ...]:
    """What jobs and endpoints write with the role that they are given, and what people read of it."""
    groups = (
        place.arn("logs", "log-group:/aws/sagemaker/TrainingJobs:*"),
        *(place.arn("logs", f"log-group:/aws/sagemaker/Endpoints/{prefix}*") for prefix in prefixes),
    )
    return (
        Permission(
            sid="Logs",
            actions=(
                "logs:CreateLogGroup",
                "logs:CreateLogStream",
                "logs:DescribeLogStreams",
                "logs:GetLogEvents",
                "logs:PutLogEvents",
            ),
            resources=groups,
            reason="jobs share one log group, with a stream for each node, whose names do not exist before",
        ),
        Permission(
            sid="Metrics",
            actions=("cloudwatch:PutMetricData",),
            resources=("*",),
            conditions={"StringLike": {"cloudwatch:namespace": ["/aws/sagemaker/*", "aws/sagemaker/*"]}},
            reason="jobs write their metrics; the action knows no resource, so the namespaces are SageMaker's alone",
        ),
    )


def own_keys(key_arns: Sequence[str]) -> tuple[Permission, ...]:
    """The keys of volumes."""
    if not key_arns:
        return ()
    keys = tuple(key_arns)
    return (
        Permission(
            sid="Keys",
            actions=("kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey"),
            resources=keys,
            reason="volumes and results are encrypted with it",
        ),
        Permission(
            sid="KeysOfVolumes",
            actions=("kms:CreateGrant",),
            resources=keys,
            conditions={"Bool": {"kms:GrantIsForAWSResource": "true"}},
            reason="EBS is granted the key of the volumes of jobs, and nobody else can be",
        ),
    )


def interfaces(place: Place, *, subnet_arns: Sequence[str], group_arns: Sequence[str]) -> tuple[Permission, ...]:
    """Jobs in the network, as the page on training jobs in a VPC asks."""
    return (
        Permission(
            sid="Interfaces",
            actions=(
                "ec2:CreateNetworkInterface",
                "ec2:CreateNetworkInterfacePermission",
                "ec2:DeleteNetworkInterface",
                "ec2:DeleteNetworkInterfacePermission",
            ),
            resources=(place.arn("ec2", "network-interface/*"), *subnet_arns, *group_arns),
            reason="SageMaker gives a job interfaces in the subnets that it names; their ids do not exist before",
        ),
        Permission(
            sid="InterfacesLookup",
            actions=(
                "ec2:DescribeDhcpOptions",
                "ec2:DescribeNetworkInterfaces",
                "ec2:DescribeSecurityGroups",
                "ec2:DescribeSubnets",
                "ec2:DescribeVpcs",
            ),
            resources=("*",),
            reason="SageMaker checks the VPC before it places a job; EC2's Describe actions know no resource",
        ),
    )


def pass_itself(role_arn: str) -> tuple[Permission, ...]:
    """Hand jobs and endpoints the very role that people act with, and no other."""
    return (
        Permission(
            sid="PassItself",
            actions=("iam:PassRole",),
            resources=(role_arn,),
            conditions={"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}},
            reason="a job acts with the role of who makes it, so it can do no more; only SageMaker can be handed it",
        ),
        Permission(
            sid="LookAtItself",
            actions=("iam:GetRole",),
            resources=(role_arn,),
            reason="the SDK asks for the path of the role before it hands it on",
        ),
    )


def _as_in_arns(prefixes: Sequence[str]) -> tuple[str, ...]:
    """Return how names begin in ARNs: SageMaker writes them there in small letters, and IAM tells large ones apart.

    Source: the developer guide's CloudTrail entries, `ExampleEndpoint` and its `…:endpoint/exampleendpoint`. Both are
    returned, since that is shown for endpoints and models alone.
    """
    return tuple(dict.fromkeys(one for prefix in prefixes for one in (prefix, prefix.lower())))
