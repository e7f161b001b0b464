"""Roles that services and nodes of a cluster run as.

From features to statements, each with its reason. We do not attach AmazonSageMakerClusterInstanceRolePolicy: it lets
every node read every bucket of the account whose name begins with `sagemaker-`
(arn:aws:iam::aws:policy/AmazonSageMakerClusterInstanceRolePolicy, v1). Its other statements are here, narrowed to the
account and region. Which actions support resources is from AWS's service authorization reference; a test compares it
with the copy in cfn-lint.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.acknowledge import acknowledge_wildcards
from llm_fleet.catalog.data_file import load
from llm_fleet.iam.resource_permissions import (
    change_bucket,
    network,
    open_sessions,
    pull_images,
    read_bucket,
    write_only,
)
from llm_fleet.iam.statements import (
    BucketAccess,
    Permission,
    Place,
    SecretAccess,
    characters_of,
    reasons_of,
    statement_of,
)
from llm_fleet.references import bucket_of
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.values import policy_size
from llm_fleet.spec.cluster import ClusterSpec
from llm_fleet.spec.references import Bucket


def permission_policy(
    scope: Construct,
    id: str,
    permissions: Sequence[Permission],
    *,
    description: str,
    roles: Sequence[iam.IRole | iam.Role] = (),
) -> iam.ManagedPolicy:
    """Return a managed policy with these permissions, attached to `roles`; its wildcards are acknowledged."""
    policy = iam.ManagedPolicy(
        scope,
        id,
        description=description,
        statements=[*map(statement_of, permissions)],
        roles=[cast(iam.IRole, role) for role in roles] or None,
    )
    acknowledge_wildcards(policy, lambda: reasons_of(permissions))
    return policy


class ServiceRole(Construct):
    """A role with these permissions and no other.

    Its policy is a managed policy: CloudFormation creates it before the role, so nothing starts without permissions.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        service: str,
        description: str,
        permissions: Sequence[Permission],
        conditions: Mapping[str, Any] | None = None,
    ) -> None:
        """Create the role that `service`, e.g. `states.amazonaws.com`, assumes; without permissions it has no policy.

        `conditions`: of its trust, on keys that the service is documented to send. With a condition on a key that is
        not sent, nothing could start. Default: none.
        """
        super().__init__(scope, id)
        self.permissions: tuple[Permission, ...] = tuple(permissions)
        """The statements, each with its reason."""
        policies: list[iam.IManagedPolicy] = []
        if self.permissions:
            policy = permission_policy(self, "Policy", self.permissions, description=description)
            policies = [cast(iam.IManagedPolicy, policy)]
        role = iam.Role(
            self,
            "Resource",
            description=description,
            assumed_by=cast(iam.IPrincipal, iam.ServicePrincipal(service, conditions=conditions)),
            managed_policies=policies,
        )
        self.role: iam.IRole = cast(iam.IRole, role)
        """The role itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFeatures:
    """The features from which a node's policy is made. A feature that is not set grants nothing."""

    cluster_name: str | None = None
    """Log group of this cluster. `None`: the log groups of all HyperPod clusters of the account."""
    bundle: BucketAccess | None = None
    """The lifecycle bundle, read at node start."""
    vpc: bool = False
    """The cluster has a `VpcConfig`: HyperPod makes network interfaces in the customer's subnets with this role."""
    existing_subnets: bool = False
    """Some of the subnets exist already, so another account may own them and share them with AWS RAM."""
    efa_file_system: bool = False
    """A Lustre file system that should be reached over EFA: nodes query FSx whether it supports EFA."""
    read_buckets: tuple[BucketAccess, ...] = ()
    """Data that jobs read."""
    write_buckets: tuple[BucketAccess, ...] = ()
    """Data that jobs read, write and delete, e.g. checkpoints."""
    reports: BucketAccess | None = None
    """Where nodes write the report of their start; write only."""
    report_events: bool = False
    """Nodes count failed starts in a metric of llm-fleet's own namespace, and send an event for each."""
    mirror: BucketAccess | None = None
    """The mirror of packages that nodes download when they start."""
    accounting_secret: SecretAccess | None = None
    """Password of the external accounting database."""
    directory_secret: SecretAccess | None = None
    """Password of the reader of an LDAP directory."""
    hub_token_secret: SecretAccess | None = None
    """Token of the Hugging Face Hub, which jobs read."""
    rollback_alarms: tuple[str, ...] = ()
    """Names of the CloudWatch alarms that stop a rolling update."""
    image_repositories: tuple[str, ...] = ()
    """ARNs of private ECR repositories that jobs pull from."""
    metrics_workspaces: tuple[str, ...] = ()
    """ARNs of Amazon Managed Prometheus workspaces that nodes write metrics to."""
    metrics_log_group: str | None = None
    """Name of the log group from whose lines CloudWatch extracts metrics."""


def permissions(features: NodeFeatures, place: Place) -> tuple[Permission, ...]:
    """Return every statement that HyperPod's nodes with `features` need at `place`, in a stable order."""
    below = f"{features.cluster_name}/*" if features.cluster_name else "*"
    return (
        Permission(
            sid="Logs",
            # assumption: hyperpod-agents-write-to-cluster-logs
            actions=("logs:CreateLogGroup", "logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"),
            resources=(place.arn("logs", f"log-group:/aws/sagemaker/Clusters/{below}"),),
            reason="HyperPod's log shipper writes the output of lifecycle scripts and agents; the cluster id, "
            "which ends the group's name, is known only once the cluster exists",
        ),
        Permission(
            sid="PlatformMetrics",
            actions=("cloudwatch:PutMetricData",),
            resources=("*",),
            conditions={"StringEquals": {"cloudwatch:namespace": "/aws/sagemaker/Clusters"}},
            reason="HyperPod's agents report node health; metrics have no ARN, so the namespace is what limits it",
        ),
        sessions(),
        *parallelcluster_permissions(features, place),
    )


def parallelcluster_permissions(features: NodeFeatures, place: Place) -> tuple[Permission, ...]:
    """Return what `features` need besides what the platform's own agents do, in a stable order.

    A ParallelCluster's nodes need no more: it makes their roles, with what Slurm, scaling and its logs need. Session
    Manager comes with AWS's policy AmazonSSMManagedInstanceCore.
    """
    return (*_to_start(features, place), *_secrets(features), *_to_run(features, place))


def sessions() -> Permission:
    """Allow sessions of Session Manager."""
    return open_sessions(
        "Sessions",
        reason="users reach a node by Session Manager, without an open port; these actions support no resource",
    )


def _to_start(features: NodeFeatures, place: Place) -> Iterator[Permission]:
    if features.bundle is not None:
        yield from read_bucket(
            "Bundle",
            features.bundle,
            reason="a starting node reads the lifecycle bundle; older bundles below the same prefix stay readable, "
            "because nodes may start from the last one while the cluster is being updated",
        )
    if features.vpc:
        yield from network(place, existing_subnets=features.existing_subnets)
    if features.efa_file_system:
        yield Permission(
            sid="EfaFileSystem",
            actions=("fsx:DescribeFileSystems",),
            resources=("*",),
            reason="without it a node cannot detect that Lustre supports EFA, and silently mounts it over TCP; "
            "the action supports no resource",
        )
    # The statement ids count buckets, since an id must be unique.
    for number, access in enumerate(features.read_buckets, start=1):
        yield from read_bucket(f"Read{number}", access, reason="jobs read their data")
    for number, access in enumerate(features.write_buckets, start=1):
        reason = "jobs read, write and delete their data, such as checkpoints"
        yield from change_bucket(f"Write{number}", access, reason=reason)
    if features.mirror is not None:
        yield from read_bucket(
            "Mirror", features.mirror, reason="a starting node downloads pinned packages from the mirror"
        )
    if features.reports is not None:
        reason = "a node writes the report of its start to a bucket, where it outlives the node"
        yield from write_only("Reports", features.reports, reason=reason)
    if features.report_events:
        yield from _failures(place)


def _failures(place: Place) -> Iterator[Permission]:
    facts = load("lifecycle")
    yield Permission(
        sid="FailureMetric",
        actions=("cloudwatch:PutMetricData",),
        resources=("*",),
        conditions={"StringEquals": {"cloudwatch:namespace": facts["metric_namespace"]}},
        reason="a node counts its failed starts; metrics have no ARN, so the namespace is what limits it",
    )
    yield Permission(
        sid="FailureEvent",
        actions=("events:PutEvents",),
        resources=(place.arn("events", f"event-bus/{facts['event_bus']}"),),
        # A request holds several events, so the key has several values; a request without any must not be allowed.
        conditions={
            "ForAllValues:StringEquals": {"events:source": facts["event_source"]},
            "Null": {"events:source": "false"},
        },
        reason="a node sends an event when its start failed, with its own name only, so that rules can act on it",
    )


def _secrets(features: NodeFeatures) -> Iterator[Permission]:
    yield from _read_secret(
        "AccountingSecret",
        features.accounting_secret,
        "slurmdbd on the controller signs in to the accounting database",
    )
    yield from _read_secret(
        "DirectorySecret",
        features.directory_secret,
        "each node gives SSSD the password of the directory's reader when it starts",
    )
    yield from _read_secret(
        "HubToken", features.hub_token_secret, "jobs that download a gated model sign in to the Hugging Face Hub"
    )


def _to_run(features: NodeFeatures, place: Place) -> Iterator[Permission]:
    if features.rollback_alarms:
        # CloudWatch returns composite alarms only to a grant on `*` (API reference, DescribeAlarms), and a name does
        # not say whether its alarm is composite: one that HyperPod could not see would never roll an update back.
        yield Permission(
            sid="RollbackAlarms",
            actions=("cloudwatch:DescribeAlarms",),
            resources=("*",),
            reason="HyperPod watches the alarms of a rolling update with the node's role and rolls it back when one "
            "fires; CloudWatch shows composite ones to a grant on all alarms alone",
        )
    yield from pull_images(features.image_repositories, reason="jobs pull their container images")
    if features.metrics_workspaces:
        yield Permission(
            sid="Metrics",
            actions=("aps:RemoteWrite",),
            resources=features.metrics_workspaces,
            reason="the exporters on a node write to the Prometheus workspace",
        )
    if features.metrics_log_group is not None:
        yield Permission(
            sid="MetricsLog",
            actions=("logs:CreateLogStream", "logs:PutLogEvents"),
            resources=(place.arn("logs", f"log-group:{features.metrics_log_group}:*"),),
            reason="each node writes its measurements into its own log stream, which is named by its instance id",
        )


def _read_secret(sid: str, secret: SecretAccess | None, reason: str) -> Iterator[Permission]:
    if secret is None:
        return
    yield Permission(sid=sid, actions=("secretsmanager:GetSecretValue",), resources=(secret.secret_arn,), reason=reason)
    if secret.key_arn is not None:
        yield Permission(
            sid=f"{sid}Key",
            actions=("kms:Decrypt",),
            resources=(secret.key_arn,),
            reason="the secret is encrypted with its own KMS key",
        )


def mounted_buckets(
    scope: Construct, cluster: ClusterSpec, *, read_only: bool, groups: Collection[str] | None = None
) -> list[BucketAccess]:
    """Return the parts of buckets that nodes of any of `groups` mount as folders. Default: those of all groups."""
    return [
        _access(scope, mount.bucket, mount.prefix)
        for mount in cluster.s3_mounts
        if mount.read_only is read_only
        and (groups is None or mount.groups is None or not {*groups}.isdisjoint(mount.groups))
    ]


def mirror_of(scope: Construct, cluster: ClusterSpec) -> BucketAccess | None:
    """Return the mirror from which nodes download; `None` without one."""
    downloads = cluster.downloads
    if downloads is None or downloads.mirror is None:
        return None
    given = downloads.mirror_name if isinstance(downloads.mirror, str) else downloads.mirror
    return _access(scope, given, downloads.mirror_prefix)


def _access(scope: Construct, bucket: Bucket | None, prefix: str | None) -> BucketAccess:
    """Return the access to objects below `prefix` in `bucket`."""
    return BucketAccess.of(cast("s3.IBucket", bucket_of(scope, bucket)), prefix=(prefix or "").strip("/"))


class NodeRole(Construct):
    """An execution role for HyperPod instance groups with the permissions that its features require, and no others.

    The policy is a managed one of the role's own: CloudFormation makes it before the role, so a cluster that names
    the role never starts nodes without their permissions.

    The trust has no `aws:SourceAccount` condition: SageMaker's page on the confused deputy lists the jobs that send
    that key and HyperPod is not among them. With a condition on a key that is not sent, no cluster could be created.
    assumption: sagemaker-sends-no-source-account
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        features: NodeFeatures,
        role_name: str | None = None,
        permissions_boundary: iam.IManagedPolicy | None = None,
    ) -> None:
        """Create the role for nodes with `features`.

        `role_name`: default, CloudFormation generates one. `permissions_boundary`: default, none; for organizations
        that require one on every role.
        Raises `FleetError` when the policy is longer than IAM allows.
        """
        super().__init__(scope, id)
        self.permissions: tuple[Permission, ...] = permissions(features, Place.of(self))
        """The statements, each with its reason."""
        raise_problems(policy_size(characters_of(self.permissions)), subject=self.node.path)
        policy = iam.ManagedPolicy(
            self,
            "Policy",
            description="What HyperPod nodes may do, from the features that are switched on",
            statements=[statement_of(permission) for permission in self.permissions],
        )
        role = iam.Role(
            self,
            "Resource",
            role_name=role_name,
            description="Execution role of HyperPod nodes",
            assumed_by=cast(iam.IPrincipal, iam.ServicePrincipal("sagemaker.amazonaws.com")),
            managed_policies=[cast(iam.IManagedPolicy, policy)],
            permissions_boundary=permissions_boundary,
        )
        self.role = cast(iam.IRole, role)
        """The role itself."""
        acknowledge_wildcards(policy, lambda: reasons_of(self.permissions))

    @property
    def role_arn(self) -> str:
        """The ARN, a token."""
        return self.role.role_arn
