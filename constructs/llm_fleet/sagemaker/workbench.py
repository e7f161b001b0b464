"""Execution role of notebook instances and Studio: its permissions, and access to clusters."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Protocol, cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.acknowledge import acknowledge, acknowledge_wildcards
from llm_fleet.catalog.endpoint import deep_learning_accounts
from llm_fleet.iam.node_role import permission_policy
from llm_fleet.iam.resource_permissions import (
    change_bucket,
    grant_volumes,
    look_up_network,
    place_interfaces,
    pull_images,
)
from llm_fleet.iam.statements import BucketAccess, Permission, Place, characters_of
from llm_fleet.lifecycle.script_folder import default_folder
from llm_fleet.rules.problem import is_unresolved, raise_problems
from llm_fleet.rules.values import policy_size

_ENDPOINT_PARTS = ("endpoint", "endpoint-config", "model")


def buckets(accesses: Sequence[BucketAccess]) -> tuple[Permission, ...]:
    """Permissions for buckets of data, checkpoints and models."""
    reason = "data, source and results of jobs are stored there, and notebooks can delete objects"
    return tuple(
        permission
        for index, access in enumerate(accesses)
        for permission in change_bucket(f"Bucket{index}", access, reason=reason)
    )


def work(place: Place, prefixes: Sequence[str]) -> list[Permission]:
    """Return permissions to create training jobs and endpoints whose names begin with one of `prefixes`."""
    accounts = deep_learning_accounts(None if is_unresolved(place.region) else place.region)
    images = [place.arn("ecr", "repository/*", account=account) for account in accounts]
    reason = "jobs and endpoints pull AWS's Deep Learning Containers, whose repositories are many and grow"
    return [
        *pull_images(images, reason=reason),
        *training_jobs(place, prefixes),
        *endpoints(place, prefixes),
        *lists(),
        *logs_and_metrics(place, prefixes),
    ]


def own_streams(
    place: Place, group: str, owner: str, *, sid: str, reason: str, streams_reason: str
) -> tuple[Permission, ...]:
    """Permissions to write streams that begin with `owner` to the log group `group`, which the account shares."""
    arn = place.arn("logs", f"log-group:{group}")
    return (
        Permission(
            sid=f"{sid}LogGroup",
            actions=("logs:CreateLogGroup", "logs:DescribeLogStreams"),
            # Policies need ":*" after a log group (CloudWatch Logs user guide); the service reference does not show it.
            resources=(arn, f"{arn}:*"),
            reason=reason,
        ),
        Permission(
            sid=f"{sid}Log",
            actions=("logs:CreateLogStream", "logs:PutLogEvents"),
            resources=(f"{arn}:log-stream:{owner}/*",),
            reason=streams_reason,
        ),
    )


def training_jobs(place: Place, prefixes: Sequence[str]) -> tuple[Permission, ...]:
    """Permissions for training jobs with these name prefixes."""
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
            reason="users create and stop only jobs with these name prefixes",
        ),
    )


def endpoints(place: Place, prefixes: Sequence[str]) -> tuple[Permission, ...]:
    """Permissions for endpoints with these name prefixes, and their configurations and models."""
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
            reason="users create and delete only endpoints with these name prefixes",
        ),
    )


def lists() -> tuple[Permission, ...]:
    """Permissions for List actions."""
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
            reason="users find their own resources; List actions support no resource",
        ),
    )


def logs_and_metrics(place: Place, prefixes: Sequence[str]) -> tuple[Permission, ...]:
    """Permissions to write logs and metrics of jobs and endpoints, which use this role, and to read them."""
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
            reason="jobs share one log group, with a stream for each node; the names do not exist yet",
        ),
        Permission(
            sid="Metrics",
            actions=("cloudwatch:PutMetricData",),
            resources=("*",),
            conditions={"StringLike": {"cloudwatch:namespace": ["/aws/sagemaker/*", "aws/sagemaker/*"]}},
            reason="jobs write metrics; the action supports no resource, so only SageMaker's namespaces are allowed",
        ),
    )


def own_keys(key_arns: Sequence[str]) -> tuple[Permission, ...]:
    """Permissions for the KMS keys of volumes."""
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
        grant_volumes(
            "KeysOfVolumes",
            keys,
            reason="a grant lets EBS use the key of job volumes; other services cannot get one",
        ),
    )


def interfaces(
    place: Place, subnets: Iterable[ec2.ISubnet], *security_groups: ec2.ISecurityGroup
) -> tuple[Permission, ...]:
    """Permissions for jobs in the VPC, from the developer guide's page on training jobs in a VPC."""
    resources = (
        "network-interface/*",
        *(f"subnet/{subnet.subnet_id}" for subnet in subnets),
        *(f"security-group/{group.security_group_id}" for group in security_groups),
    )
    return (
        place_interfaces(
            "Interfaces",
            [place.arn("ec2", resource) for resource in resources],
            reason="SageMaker creates a job's network interfaces in its subnets; the ids do not exist yet",
        ),
        look_up_network(
            "InterfacesLookup",
            reason="SageMaker checks the VPC before it places a job; EC2's Describe actions support no resource",
        ),
    )


def pass_own_role(role_arn: str) -> tuple[Permission, ...]:
    """Permission to pass only this role itself to jobs and endpoints."""
    return (
        Permission(
            sid="PassItself",
            actions=("iam:PassRole",),
            resources=(role_arn,),
            conditions={"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}},
            reason="a job has the role of its creator, so it has no more permissions; only SageMaker can get it",
        ),
        Permission(
            sid="LookAtItself",
            actions=("iam:GetRole",),
            resources=(role_arn,),
            reason="the SDK reads the path of the role before it passes it",
        ),
    )


def _as_in_arns(prefixes: Sequence[str]) -> tuple[str, ...]:
    """Return the prefixes of names in ARNs: SageMaker writes names in lowercase there, and IAM is case-sensitive.

    Source: the developer guide's CloudTrail entries, `ExampleEndpoint` and its `…:endpoint/exampleendpoint`. Both forms
    are returned, since the guide shows this only for endpoints and models.
    """
    return tuple(dict.fromkeys(one for prefix in prefixes for one in (prefix, prefix.lower())))


_PRINCIPAL = "sagemaker.amazonaws.com"


class WorkbenchRole(Construct):
    """An execution role for SageMaker with these permissions, and the permission to pass itself.

    Its policies are managed policies. Resources that use the role must depend on this construct, so that they do not
    start without permissions. The trust has no `aws:SourceAccount`: AWS does not document that SageMaker sends it for
    notebook instances, and a condition on a key that is not sent would prevent every instance from starting.
    assumption: sagemaker-sends-no-source-account
    """

    def __init__(
        self, scope: Construct, id: str, *, description: str, permissions: Mapping[str, Sequence[Permission]]
    ) -> None:
        """Create the role. `permissions`: by the construct ids of their policies.

        Raises `FleetError` for a policy that is longer than IAM allows.
        """
        super().__init__(scope, id)
        for group in permissions.values():
            raise_problems(policy_size(characters_of(group)), subject=self.node.path)
        self.role: iam.Role = iam.Role(
            self,
            "Resource",
            description=description,
            assumed_by=cast(iam.IPrincipal, iam.ServicePrincipal(_PRINCIPAL)),
        )
        """The role itself."""
        itself = pass_own_role(self.role.role_arn)
        self.permissions: tuple[Permission, ...] = (*chain.from_iterable(permissions.values()), *itself)
        """The statements, each with its reason."""
        for name, group in permissions.items():
            permission_policy(self, name, group, description=description, roles=[self.role])
        # A separate policy, because it refers to the role.
        permission_policy(self, "PassItself", itself, description=description, roles=[self.role])
        acknowledge(
            self.role,
            "only grants of other constructs are in an inline policy of the role: the CDK's grants work only this way",
            "NIST.800.53.R5-IAMNoInlinePolicy",
        )


class ReachGrants(Protocol):
    """The grants of a cluster that `grant_cluster_access` uses."""

    def ssm_session(self, grantee: iam.IGrantable, *, documents: Sequence[str] | None = None) -> iam.Grant:
        """Let `grantee` open a shell on the cluster's nodes."""
        ...

    def submit_jobs(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` run `llm-fleet jobs submit` and `llm-fleet jobs logs`."""
        ...


class ReachableCluster(Protocol):
    """A `HyperPodCluster` or `ParallelCluster`, of this app or imported (`from_…`)."""

    @property
    def grants(self) -> ReachGrants:
        """Grants for other roles and users."""
        ...


_INSTALLED = "/usr/local/bin/cluster-shell"
_SCRIPT = "workbench/cluster_shell.py"


def grant_cluster_access(grantee: iam.IGrantable, clusters: Sequence[ReachableCluster]) -> None:
    """Let `grantee` open shells on the nodes of `clusters`, and run `llm-fleet jobs` against them.

    Anyone with a shell on a node is root there and has all permissions of the node, so the grant includes them.
    """
    for cluster in clusters:
        cluster.grants.ssm_session(grantee)
        cluster.grants.submit_jobs(grantee)
    principal = grantee.grant_principal
    if clusters and isinstance(principal, Construct):
        acknowledge_wildcards(principal, lambda: _reasons(cdk.Stack.of(principal)))


def cluster_access_files(clusters: Sequence[ReachableCluster]) -> Mapping[str, str]:
    """Return the files for cluster access on an instance or in Studio, by absolute path; empty without clusters.

    The program `cluster-shell <cluster>` finds the login node and opens a session there. It needs Python 3, the AWS CLI
    and the Session Manager plugin. It does not download the plugin, but prints AWS's download URL.
    """
    if not clusters:
        return {}
    return {_INSTALLED: (default_folder() / _SCRIPT).read_text(encoding="utf-8")}


def _reasons(stack: cdk.Stack) -> dict[str, str]:
    # cdk-nag writes a policy variable `${x}` as it does references: `<x>`.
    sessions = stack.format_arn(service="ssm", resource="session", resource_name="<aws:userid>-*")
    instances = stack.format_arn(service="ec2", resource="instance", resource_name="*")
    return {
        sessions: "users resume and terminate their own sessions; the ids do not exist yet",
        instances: "ParallelCluster replaces nodes; the cluster's tag is a condition",
        "*": "DescribeInstances, which finds the head node, supports no resource",
    }
