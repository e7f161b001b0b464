"""Monitoring of clusters: alarms and thresholds, chat channels, metrics of nodes, and the monthly budget."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar, Self

from pydantic import Field

from llm_fleet.catalog.monitoring import alarm_thresholds, fleet_budget_facts, metrics_retention_days
from llm_fleet.spec.references import Topic
from llm_fleet.spec.spec import SHORTHAND, Spec
from llm_fleet.spec.values import Days, Dollars, Minutes, Several


class ClusterAlarmThresholds(Spec):
    """Thresholds of the alarms of clusters and file systems. Times are whole minutes, 5 to 1440; errors have LF1180."""

    node_failed_minutes: Annotated[Minutes | None, Field(alias="node_failed", examples=["20 min"])] = None
    """How long a HyperPod node is in Failure; longer than it takes to begin replacing a node. Default: `10 min`."""
    stuck_pending_minutes: Annotated[Minutes | None, Field(alias="stuck_pending")] = None
    """How long requested nodes of a group are pending or missing. Default: `30 min`."""
    idle_percent: float | None = None
    """Accelerator utilization, in percent, averaged over all nodes, below which they count as idle. Default: 5."""
    idle_minutes: Annotated[Minutes | None, Field(alias="idle")] = None
    """How long accelerators are idle while a job holds nodes. Default: `1 h`."""
    unused_minutes: Annotated[Minutes | None, Field(alias="unused")] = None
    """How long accelerators are idle while no job holds any node. Default: `2 h`."""
    disk_percent: float | None = None
    """Usage of the fullest disk of any node, in percent. Default: 85."""
    file_system_percent: float | None = None
    """Usage of a file system, in percent; of Lustre, that of its fullest storage target. Default: 90."""
    queue_wait_minutes: Annotated[Minutes | None, Field(alias="queue_wait")] = None
    """How long a Slurm job that could run has waited while nodes are idle, down or drained. Default: `4 h`."""
    nodes_down_minutes: Annotated[Minutes | None, Field(alias="nodes_down")] = None
    """How long a node is down in Slurm. Default: `15 min`."""
    silent_minutes: Annotated[Minutes | None, Field(alias="silent")] = None
    """How long no node publishes metrics while nodes run. Default: `30 min`."""

    def figure(self, name: str) -> float:
        """Return the threshold `name`, or the catalog's default."""
        own: float | None = getattr(self, name)
        return alarm_thresholds()[name] if own is None else own


class SlackChannel(Spec):
    """A Slack channel. Authorize its workspace once by hand, in the console of Amazon Q Developer.

    Invalid ids have LF1183.
    """

    workspace_id: Annotated[str, Field(alias="workspace", examples=["T0123456789"])]
    """Workspace id, e.g. `T0123456789`."""
    channel_id: Annotated[str, Field(alias="channel", examples=["C0123456789"])]
    """Channel id, e.g. `C0123456789`. Amazon Q must be invited into a private channel."""


class TeamsChannel(Spec):
    """A Microsoft Teams channel. Authorize its team once by hand, in the console of Amazon Q Developer.

    Invalid ids have LF1183.
    """

    team_id: Annotated[str, Field(alias="team", examples=["01234567-89ab-cdef-0123-456789abcdef"])]
    """A UUID: `groupId` in the link of the channel."""
    tenant_id: Annotated[str, Field(alias="tenant", examples=["01234567-89ab-cdef-0123-456789abcdef"])]
    """A UUID: `tenantId` in the link of the channel."""
    channel_id: Annotated[str, Field(alias="channel", examples=["19%3a0123abcd%40thread.tacv2"])]
    """The part after `/channel/` in the link of the channel, with its `%3a` and `%40`."""


Chat = SlackChannel | TeamsChannel
"""A chat channel for alarm notifications."""


class ClusterAlarms(Spec):
    """Notifications and thresholds of the alarms of clusters. In a fleet file an ARN is short for `topic` alone."""

    other_words: ClassVar[Mapping[str, str]] = {
        "email": "write `emails`, a list",
        "chat": "write `slack` or `teams`",
        "notify": "write `topic`, `emails`, `slack` or `teams`",
    }

    topic: Annotated[Topic | None, SHORTHAND] = None
    """SNS topic for notifications, by ARN. Default: a topic is created. The policy of an existing topic must let
    CloudWatch publish and, with a budget, AWS Budgets."""
    emails: Several[str] = ()
    """E-mail addresses for notifications; each must confirm once, by a link in the first e-mail. Default: none."""
    slack: SlackChannel | None = None
    """Slack channel for notifications. Default: none."""
    teams: TeamsChannel | None = None
    """Microsoft Teams channel for notifications. Default: none."""
    thresholds: ClusterAlarmThresholds = ClusterAlarmThresholds()
    """Thresholds of the alarms."""


class BudgetDenial(Spec):
    """IAM roles that can start nothing more after the budget is spent. Running resources are not stopped."""

    roles: Several[str] = ()
    """Names of roles that can then start no more clusters, jobs, endpoints and instances: at least one."""
    automatically: bool = False
    """Whether it is applied automatically. Default: no; someone must approve it in the console of AWS Budgets."""


class FleetBudget(Spec):
    """A monthly budget, its notifications, and the roles that can start nothing more when it is spent.

    It stops nothing that runs: AWS Budgets cannot stop HyperPod, jobs would lose their work since the last checkpoint,
    and AWS bills with a delay of hours to a day. AWS updates budgets every 8 to 12 hours.
    """

    other_words: ClassVar[Mapping[str, str]] = {"action": "write `deny: {roles: […]}`"}

    monthly_usd: Annotated[Dollars, Field(alias="monthly", examples=["20000 USD"])]
    """The budget of a calendar month, e.g. `20000 USD`."""
    at_percent: Several[float] = fleet_budget_facts().at_percent
    """Percentages of the budget at which notifications are sent. Default: 50, 80 and 100."""
    forecast: bool = True
    """Whether a notification is sent when the forecast reaches the whole budget. Default: yes."""
    emails: Several[str] = ()
    """E-mail addresses for notifications, in addition to `topic` of `alarms`: at most 10. Default: none."""
    tag: tuple[str, str] | None = None
    """Key and value of the cost allocation tag of the budget. Activate the tag in Billing, otherwise nothing counts.

    Default: all costs of the account.
    """
    deny: BudgetDenial | None = None
    """IAM roles that can start nothing more when the budget is spent. Default: none; only notifications are sent."""

    @property
    def deny_roles(self) -> tuple[str, ...]:
        """Names of the roles that can start nothing more; empty without `deny`."""
        return tuple(self.deny.roles) if self.deny else ()


class MonitoringSpec(Spec):
    """Monitoring of clusters and the resources that they use, notifications, and the monthly budget."""

    other_words: ClassVar[Mapping[str, str]] = {
        "thresholds": "write it below `alarms`",
        "topic": "write it below `alarms`",
        "retention": "write `logs`",
        "except": "write `clusters`: the clusters that are monitored",
    }

    alarms: ClusterAlarms = ClusterAlarms()
    """Notifications and thresholds of alarms. Default: an SNS topic is created, to which you can subscribe."""
    dashboard: bool = True
    """Whether a CloudWatch dashboard is created. Default: yes."""
    log_retention_days: Annotated[Days | None, Field(alias="logs")] = None
    """Retention of the logs of HyperPod's nodes. Default: `180 days`."""
    budget: FleetBudget | None = None
    """Monthly budget. Default: none."""


class MetricsDestination(StrEnum):
    """Where nodes send their metrics."""

    CLOUDWATCH = "cloudwatch"
    """CloudWatch metrics by cluster and group, and a log with one line for each node and minute."""
    PROMETHEUS = "prometheus"
    """A workspace of Amazon Managed Service for Prometheus, with one series for each node."""
    NONE = "none"
    """No metrics are measured."""


class ClusterMetrics(Spec):
    """Metrics that nodes of clusters measure each minute, and their destination.

    CPUs, memory and disks, Neuron devices or GPUs, EFA, Lustre and, on the controller, Slurm's queue and nodes;
    `llm_fleet.catalog.monitoring` lists all metrics. Nothing is downloaded for it. In Python, create it with
    `cloudwatch` or `prometheus`.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "destination": "write `to`",
        "namespace": "the namespace is `LlmFleet/Nodes` and cannot be changed",
        "interval": "nodes measure each minute",
        "logs": "write `retention`",
    }

    destination: Annotated[MetricsDestination, SHORTHAND, Field(alias="to", examples=["cloudwatch"])]
    """Destination: `cloudwatch`, `prometheus` (Amazon Managed Service for Prometheus) or `none`."""
    retention_days: Annotated[Days | None, Field(alias="retention")] = None
    """Retention of the log in CloudWatch Logs to which each node writes a line each minute. Default: `14 days`."""
    workspace_arn: Annotated[str | None, Field(alias="workspace")] = None
    """ARN of an existing workspace for `prometheus`, in the fleet's region. Default: a workspace is created, and
    retained."""

    @classmethod
    def cloudwatch(cls, *, retention_days: int | None = None) -> Self:
        """CloudWatch, by cluster and group: one line for each node and minute in the log
        `/llm-fleet/metrics/<cluster>`.

        `retention_days`: retention of the log; default, 14 days. The metrics made of the lines are kept for 15 months.
        """
        return cls(destination=MetricsDestination.CLOUDWATCH, retention_days=retention_days)

    @classmethod
    def prometheus(cls, *, workspace_arn: str) -> Self:
        """A workspace of Amazon Managed Service for Prometheus in the cluster's region, with one series for each node.

        `workspace_arn`: may be a token; `PrometheusWorkspace` creates a workspace.
        """
        return cls(destination=MetricsDestination.PROMETHEUS, workspace_arn=workspace_arn)

    @property
    def log_days(self) -> int:
        """Retention of the lines in CloudWatch Logs, in days."""
        return metrics_retention_days() if self.retention_days is None else self.retention_days
