"""The stable codes of what is measured on nodes, and where it goes. LF1150 to LF1179."""

from llm_fleet.rules.problem import AnyCode


class MetricsCode(AnyCode):
    """One mistake, one code. The string after the code says in short what it stands for."""

    RETENTION = "LF1150", "days that CloudWatch Logs cannot keep the nodes' log of metrics"
    WORKSPACE = "LF1151", "no ARN of a workspace of Amazon Managed Service for Prometheus"
    OTHER_DESTINATION = "LF1152", "a setting of metrics that their destination knows nothing of"
    OTHER_REGION = "LF1153", "a workspace of another region than the cluster"
    NO_METRICS = "LF1154", "where metrics of a cluster go is told by something that is no ClusterMetrics"
