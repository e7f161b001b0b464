"""What the function that looks at clusters may do, statement by statement."""

from collections.abc import Mapping

from llm_fleet.catalog.monitoring import account_metrics, cluster_log_group
from llm_fleet.iam.permission import Permission, Place
from llm_fleet.monitoring.monitored_cluster import ClusterKind


def observer_permissions(
    place: Place, clusters: Mapping[str, ClusterKind], *, key_arn: str | None
) -> tuple[Permission, ...]:
    """Return what it may do for `clusters`, by name; `key_arn` encrypts their log groups."""
    kinds = set(clusters.values())
    return (
        Permission(
            sid="PublishMetrics",
            actions=("cloudwatch:PutMetricData",),
            resources=("*",),
            conditions={"StringEquals": {"cloudwatch:namespace": account_metrics().namespace}},
            reason="what it finds becomes metrics; CloudWatch knows no resource here, but the namespace",
        ),
        *(_hyperpod(place, clusters, key_arn) if ClusterKind.HYPERPOD in kinds else ()),
        *(_parallelcluster() if ClusterKind.PARALLELCLUSTER in kinds else ()),
    )


def _hyperpod(place: Place, clusters: Mapping[str, ClusterKind], key_arn: str | None) -> tuple[Permission, ...]:
    names = sorted(name for name, kind in clusters.items() if kind == ClusterKind.HYPERPOD)
    groups = tuple(place.arn("logs", f"log-group:{cluster_log_group()}/{name}/*") for name in names)
    encrypt = ("logs:AssociateKmsKey",) if key_arn else ()
    return (
        Permission(
            sid="AskClusters",
            actions=("sagemaker:DescribeCluster", "sagemaker:ListClusterNodes"),
            resources=(place.arn("sagemaker", "cluster/*"),),
            reason="a cluster's ARN ends with an id that is known only once it is there, and this comes before it",
        ),
        Permission(
            sid="FindLogGroups",
            actions=("logs:DescribeLogGroups",),
            resources=(place.arn("logs", "log-group:*"),),
            reason="log groups are found by the beginning of their names, for which IAM has no narrower form",
        ),
        Permission(
            sid="KeepLogGroups",
            actions=("logs:CreateLogGroup", "logs:PutRetentionPolicy", *encrypt),
            resources=groups,
            reason="a cluster's log group has a retention before its first node writes; its name ends with an id",
        ),
    )


def _parallelcluster() -> tuple[Permission, ...]:
    return (
        Permission(
            sid="LookAtHeadNodes",
            actions=("ec2:DescribeInstances", "ec2:DescribeInstanceStatus"),
            resources=("*",),
            reason="a head node is found by its tags; EC2 knows no resource for looking",
        ),
    )
