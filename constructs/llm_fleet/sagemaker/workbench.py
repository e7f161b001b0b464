"""What people act with on a notebook instance or in Studio: the role, its permissions, and the clusters in reach."""

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
    """Data, checkpoints, models."""
    reason = "data, source and results of jobs lie there; what a notebook makes, it may delete"
    return tuple(
        permission
        for index, access in enumerate(accesses)
        for permission in change_bucket(f"Bucket{index}", access, reason=reason)
    )


def work(place: Place, prefixes: Sequence[str]) -> list[Permission]:
    """Return what people do from here: train and serve under names that begin with one of `prefixes`."""
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
    """Write streams that begin with the name `owner` into the log group `group`, one of all of an account."""
    arn = place.arn("logs", f"log-group:{group}")
    return (
        Permission(
            sid=f"{sid}LogGroup",
            actions=("logs:CreateLogGroup", "logs:DescribeLogStreams"),
            # Policies have ":*" after a group (CloudWatch Logs user guide), its service reference has not.
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
        grant_volumes(
            "KeysOfVolumes",
            keys,
            reason="EBS is granted the key of the volumes of jobs, and nobody else can be",
        ),
    )


def interfaces(
    place: Place, subnets: Iterable[ec2.ISubnet], *security_groups: ec2.ISecurityGroup
) -> tuple[Permission, ...]:
    """Jobs in the network, as the page on training jobs in a VPC asks."""
    resources = (
        "network-interface/*",
        *(f"subnet/{subnet.subnet_id}" for subnet in subnets),
        *(f"security-group/{group.security_group_id}" for group in security_groups),
    )
    return (
        place_interfaces(
            "Interfaces",
            [place.arn("ec2", resource) for resource in resources],
            reason="SageMaker gives a job interfaces in the subnets that it names; their ids do not exist before",
        ),
        look_up_network(
            "InterfacesLookup",
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


_PRINCIPAL = "sagemaker.amazonaws.com"


class WorkbenchRole(Construct):
    """A role that SageMaker takes, with these permissions, and with that to hand itself to what it makes.

    Its policies are managed ones. What uses the role must depend on this construct, so that none starts without them.
    The trust has no `aws:SourceAccount`: that SageMaker sends it for notebook instances is not documented, and a
    condition on a key that is not sent would keep every instance from starting.
    assumption: sagemaker-sends-no-source-account
    """

    def __init__(
        self, scope: Construct, id: str, *, description: str, permissions: Mapping[str, Sequence[Permission]]
    ) -> None:
        """Make the role. `permissions`: by the ids of the policies that they stand in.

        Raises `FleetError` when some make a longer policy than IAM takes.
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
        itself = pass_itself(self.role.role_arn)
        self.permissions: tuple[Permission, ...] = (*chain.from_iterable(permissions.values()), *itself)
        """The statements, each with its reason."""
        for name, group in permissions.items():
            permission_policy(self, name, group, description=description, roles=[self.role])
        # Apart, since it names the role, which is there before it.
        permission_policy(self, "PassItself", itself, description=description, roles=[self.role])
        acknowledge(
            self.role,
            "only what other constructs grant stands in a policy within the role: the CDK's grants know no other way",
            "NIST.800.53.R5-IAMNoInlinePolicy",
        )


class ReachGrants(Protocol):
    """What of a cluster's grants the reach is made of."""

    def ssm_session(self, grantee: iam.IGrantable, *, documents: Sequence[str] | None = None) -> iam.Grant:
        """Let `grantee` open a shell on the cluster's nodes."""
        ...

    def submit_jobs(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` do what `llm-fleet jobs submit` and `logs` do."""
        ...


class ReachableCluster(Protocol):
    """A `HyperPodCluster` or `ParallelCluster`, made here or elsewhere (their `from_…`)."""

    @property
    def grants(self) -> ReachGrants:
        """What others may do with it."""
        ...


_INSTALLED = "/usr/local/bin/cluster-shell"
_SCRIPT = "workbench/cluster_shell.py"


def grant_cluster_reach(grantee: iam.IGrantable, clusters: Sequence[ReachableCluster]) -> None:
    """Let `grantee` open shells on the nodes of `clusters`, and run `llm-fleet jobs` against them.

    Whoever has a shell on a node is root there, and can do all that a node can: the grant is for nothing less.
    """
    for cluster in clusters:
        cluster.grants.ssm_session(grantee)
        cluster.grants.submit_jobs(grantee)
    principal = grantee.grant_principal
    if clusters and isinstance(principal, Construct):
        acknowledge_wildcards(principal, lambda: _reasons(cdk.Stack.of(principal)))


def cluster_reach_files(clusters: Sequence[ReachableCluster]) -> Mapping[str, str]:
    """Return the files that the reach wants where people work, by their absolute paths; none without clusters.

    The program `cluster-shell <cluster>` finds the node to log in to and opens a session there. It needs Python 3, the
    AWS CLI and its Session Manager plugin; of the last it tells where AWS has it, for nothing is downloaded unasked.
    """
    if not clusters:
        return {}
    return {_INSTALLED: (default_folder() / _SCRIPT).read_text(encoding="utf-8")}


def _reasons(stack: cdk.Stack) -> dict[str, str]:
    # cdk-nag writes a policy variable `${x}` as it does references: `<x>`.
    sessions = stack.format_arn(service="ssm", resource="session", resource_name="<aws:userid>-*")
    instances = stack.format_arn(service="ec2", resource="instance", resource_name="*")
    return {
        sessions: "sessions of one's own, to resume and end them; their ids do not exist before",
        instances: "ParallelCluster's nodes come and go; the tag of the cluster is a condition",
        "*": "EC2 lets nobody look a head node up but among all instances",
    }
