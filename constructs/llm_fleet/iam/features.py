"""What the nodes of a cluster are switched on to do."""

from dataclasses import dataclass

from llm_fleet.iam.access import BucketAccess, SecretAccess


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
