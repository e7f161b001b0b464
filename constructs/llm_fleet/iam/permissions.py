"""What the roles of nodes may do, by the features that a cluster has.

From features to statements: one small function a feature, each statement with its reason.

We do not attach AmazonSageMakerClusterInstanceRolePolicy: it lets every node read every bucket of the account whose
name begins with `sagemaker-` (arn:aws:iam::aws:policy/AmazonSageMakerClusterInstanceRolePolicy, v1). Its other
statements are here, narrowed to the account and region. Which actions know resources is from AWS's service
authorization reference; a test compares it with the copy in cfn-lint.

What the nodes of a ParallelCluster may do besides what ParallelCluster itself allows them.

ParallelCluster makes the roles, with what Slurm, scaling and its logs need. Session Manager comes with AWS's policy
AmazonSSMManagedInstanceCore.
"""

from dataclasses import dataclass

from llm_fleet.catalog.data_file import load
from llm_fleet.iam.resource_permissions import (
    change_bucket,
    network,
    open_sessions,
    pull_images,
    read_bucket,
    write_only,
)
from llm_fleet.iam.statements import BucketAccess, Permission, Place, SecretAccess


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFeatures:
    """The features from which a node's policy is made. What is left out grants nothing."""

    cluster_name: str | None = None
    """Narrows the log group to this cluster's. `None`: the log groups of all HyperPod clusters of the account."""
    bundle: BucketAccess | None = None
    """The lifecycle bundle, read at node start."""
    vpc: bool = False
    """The cluster has a `VpcConfig`: HyperPod makes network interfaces in the customer's subnets with this role."""
    existing_subnets: bool = False
    """Some of the subnets exist already, so that they may belong to another account, which shares them by AWS RAM."""
    efa_file_system: bool = False
    """A Lustre file system that should be reached over EFA: nodes ask FSx whether it can be."""
    read_buckets: tuple[BucketAccess, ...] = ()
    """Data that jobs read."""
    write_buckets: tuple[BucketAccess, ...] = ()
    """Data that jobs read, write and delete, e.g. checkpoints."""
    reports: BucketAccess | None = None
    """Where nodes put the report of their start; write only."""
    report_events: bool = False
    """Nodes count failed starts in a metric of llm-fleet's own namespace, and tell each by an event."""
    mirror: BucketAccess | None = None
    """The mirror of what nodes fetch when they start."""
    accounting_secret: SecretAccess | None = None
    """Password of the external accounting database."""
    directory_secret: SecretAccess | None = None
    """Password of the reader of an LDAP directory."""
    hub_token_secret: SecretAccess | None = None
    """Token of the Hugging Face Hub, which jobs read."""
    rollback_alarms: tuple[str, ...] = ()
    """Names of the CloudWatch alarms that end a rolling update."""
    image_repositories: tuple[str, ...] = ()
    """ARNs of private ECR repositories that jobs pull from."""
    metrics_workspaces: tuple[str, ...] = ()
    """ARNs of Amazon Managed Prometheus workspaces that nodes write metrics to."""
    metrics_log_group: str | None = None
    """Name of the log group of whose lines CloudWatch makes metrics."""


def permissions(features: NodeFeatures, place: Place) -> tuple[Permission, ...]:
    """Return every statement that nodes with `features` need at `place`, in a stable order."""
    return (
        *logs(features, place),
        *metrics_of_the_platform(),
        *sessions(),
        *bundle(features),
        *(network(place, existing_subnets=features.existing_subnets) if features.vpc else ()),
        *efa_file_system(features),
        *data_buckets(features),
        *mirror(features),
        *reports(features),
        *failures(features, place),
        *accounting(features),
        *directory(features),
        *hub_token(features),
        *rollback_alarms(features),
        *private_images(features),
        *metrics(features),
        *metrics_log(features, place),
    )


def logs(features: NodeFeatures, place: Place) -> tuple[Permission, ...]:
    """Write the node's logs."""
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
    )


def metrics_of_the_platform() -> tuple[Permission, ...]:
    """Send HyperPod's own metrics."""
    return (
        Permission(
            sid="PlatformMetrics",
            actions=("cloudwatch:PutMetricData",),
            resources=("*",),
            conditions={"StringEquals": {"cloudwatch:namespace": "/aws/sagemaker/Clusters"}},
            reason="HyperPod's agents report node health; metrics have no ARN, so the namespace is what limits it",
        ),
    )


def sessions() -> tuple[Permission, ...]:
    """Let people open a shell."""
    return (
        open_sessions(
            "Sessions",
            reason="Session Manager is the way onto a node, without an open port; these actions know no resource",
        ),
    )


def bundle(features: NodeFeatures) -> tuple[Permission, ...]:
    """Read the lifecycle bundle."""
    if features.bundle is None:
        return ()
    return read_bucket(
        "Bundle",
        features.bundle,
        reason="a starting node reads the lifecycle bundle; older bundles below the same prefix stay readable, "
        "because nodes may start from the last one while the cluster is being updated",
    )


def efa_file_system(features: NodeFeatures) -> tuple[Permission, ...]:
    """Ask FSx whether a file system speaks EFA."""
    if not features.efa_file_system:
        return ()
    return (
        Permission(
            sid="EfaFileSystem",
            actions=("fsx:DescribeFileSystems",),
            resources=("*",),
            reason="without it a node cannot learn that Lustre speaks EFA and mounts it over TCP without a word; "
            "the action knows no resource",
        ),
    )


def data_buckets(features: NodeFeatures) -> tuple[Permission, ...]:
    """Reach the data of jobs."""
    return (
        *_numbered("Read", features.read_buckets, "jobs read their data"),
        *_numbered("Write", features.write_buckets, "jobs read, write and tidy up their data, such as checkpoints"),
    )


def reports(features: NodeFeatures) -> tuple[Permission, ...]:
    """Leave a report."""
    if features.reports is None:
        return ()
    return write_only(
        "Reports", features.reports, reason="a node leaves the report of its start where it outlives the node"
    )


def mirror(features: NodeFeatures) -> tuple[Permission, ...]:
    """Fetch what the image lacks."""
    if features.mirror is None:
        return ()
    return read_bucket("Mirror", features.mirror, reason="a starting node fetches pinned packages from the mirror")


def failures(features: NodeFeatures, place: Place) -> tuple[Permission, ...]:
    """Tell that a start failed."""
    if not features.report_events:
        return ()
    facts = load("lifecycle")
    return (
        Permission(
            sid="FailureMetric",
            actions=("cloudwatch:PutMetricData",),
            resources=("*",),
            conditions={"StringEquals": {"cloudwatch:namespace": facts["metric_namespace"]}},
            reason="a node counts its failed starts; metrics have no ARN, so the namespace is what limits it",
        ),
        Permission(
            sid="FailureEvent",
            actions=("events:PutEvents",),
            resources=(place.arn("events", f"event-bus/{facts['event_bus']}"),),
            # A request holds several events, so the key has several values; one without any must not slip through.
            conditions={
                "ForAllValues:StringEquals": {"events:source": facts["event_source"]},
                "Null": {"events:source": "false"},
            },
            reason="a node tells that its start failed, in its own name only, so that rules can act on it",
        ),
    )


def accounting(features: NodeFeatures) -> tuple[Permission, ...]:
    """Reach the accounting database."""
    reason = "slurmdbd on the controller signs in to the accounting database"
    return _read_secret("AccountingSecret", features.accounting_secret, reason)


def directory(features: NodeFeatures) -> tuple[Permission, ...]:
    """Ask a directory."""
    reason = "each node gives SSSD the password of the directory's reader when it starts"
    return _read_secret("DirectorySecret", features.directory_secret, reason)


def hub_token(features: NodeFeatures) -> tuple[Permission, ...]:
    """Read the token of the Hugging Face Hub."""
    reason = "jobs that download a gated model sign in to the Hugging Face Hub"
    return _read_secret("HubToken", features.hub_token_secret, reason)


def rollback_alarms(features: NodeFeatures) -> tuple[Permission, ...]:
    """Watch the alarms of a rolling update.

    CloudWatch returns composite alarms only to a grant on `*` (API reference, DescribeAlarms), and a name does not say
    whether its alarm is composite: one that HyperPod could not see would never roll an update back.
    """
    if not features.rollback_alarms:
        return ()
    return (
        Permission(
            sid="RollbackAlarms",
            actions=("cloudwatch:DescribeAlarms",),
            resources=("*",),
            reason="HyperPod watches the alarms of a rolling update with the node's role and rolls it back when one "
            "fires; CloudWatch shows composite ones to a grant on all alarms alone",
        ),
    )


def private_images(features: NodeFeatures) -> tuple[Permission, ...]:
    """Pull images."""
    return pull_images(features.image_repositories, reason="jobs pull their container images")


def metrics(features: NodeFeatures) -> tuple[Permission, ...]:
    """Send metrics to Prometheus."""
    if not features.metrics_workspaces:
        return ()
    return (
        Permission(
            sid="Metrics",
            actions=("aps:RemoteWrite",),
            resources=features.metrics_workspaces,
            reason="the exporters on a node write to the Prometheus workspace",
        ),
    )


def metrics_log(features: NodeFeatures, place: Place) -> tuple[Permission, ...]:
    """Write the lines of which CloudWatch makes metrics."""
    if features.metrics_log_group is None:
        return ()
    return (
        Permission(
            sid="MetricsLog",
            actions=("logs:CreateLogStream", "logs:PutLogEvents"),
            resources=(place.arn("logs", f"log-group:{features.metrics_log_group}:*"),),
            reason="each node writes what it measures into a stream of its own, which is named by its instance id",
        ),
    )


def _read_secret(sid: str, secret: SecretAccess | None, reason: str) -> tuple[Permission, ...]:
    if secret is None:
        return ()
    read = Permission(
        sid=sid, actions=("secretsmanager:GetSecretValue",), resources=(secret.secret_arn,), reason=reason
    )
    if secret.key_arn is None:
        return (read,)
    decrypt = Permission(
        sid=f"{sid}Key",
        actions=("kms:Decrypt",),
        resources=(secret.key_arn,),
        reason="the secret is encrypted with a key of its own",
    )
    return (read, decrypt)


def _numbered(word: str, buckets: tuple[BucketAccess, ...], reason: str) -> tuple[Permission, ...]:
    """Return the statements for `buckets`; the statement ids count them, since an id must not come twice."""
    make = read_bucket if word == "Read" else change_bucket
    return tuple(
        permission
        for number, access in enumerate(buckets, start=1)
        for permission in make(f"{word}{number}", access, reason=reason)
    )


def parallelcluster_permissions(features: NodeFeatures, place: Place) -> tuple[Permission, ...]:
    """Return every statement that nodes with `features` need at `place`, in a stable order."""
    return (
        *bundle(features),
        *data_buckets(features),
        *mirror(features),
        *reports(features),
        *failures(features, place),
        *hub_token(features),
        *private_images(features),
        *metrics(features),
        *metrics_log(features, place),
    )
