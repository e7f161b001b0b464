"""What is watched of clusters: alarms and their thresholds, chats, what nodes measure, and the budget of a month."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar, Self

from pydantic import Field

from llm_fleet.catalog.monitoring import alarm_thresholds, fleet_budget_facts, metrics_retention_days
from llm_fleet.spec.references import Topic
from llm_fleet.spec.spec import SHORTHAND, Spec
from llm_fleet.spec.values import Days, Dollars, Minutes, Several


class ClusterAlarmThresholds(Spec):
    """Thresholds of the alarms of clusters and file systems. Minutes are whole, 5 to 1440; what is wrong has LF1180."""

    node_failed_minutes: Annotated[Minutes | None, Field(alias="node_failed", examples=["20 min"])] = None
    """How long a node of HyperPod is in Failure: longer than replacing one takes to begin. Default: `10 min`."""
    stuck_pending_minutes: Annotated[Minutes | None, Field(alias="stuck_pending")] = None
    """How long nodes that a group wants are pending or missing. Default: `30 min`."""
    idle_percent: float | None = None
    """Below which use of accelerators, on the mean of all nodes, they are idle. Default: 5."""
    idle_minutes: Annotated[Minutes | None, Field(alias="idle")] = None
    """How long they are, while a job holds nodes. Default: `1 h`."""
    unused_minutes: Annotated[Minutes | None, Field(alias="unused")] = None
    """How long they are, while no job holds any node. Default: `2 h`."""
    disk_percent: float | None = None
    """How full the fullest disk of any node is. Default: 85."""
    file_system_percent: float | None = None
    """How full a file system is; of Lustre, its fullest target. Default: 90."""
    queue_wait_minutes: Annotated[Minutes | None, Field(alias="queue_wait")] = None
    """How long a job of Slurm has waited that could run, while nodes are idle, down or drained. Default: `4 h`."""
    nodes_down_minutes: Annotated[Minutes | None, Field(alias="nodes_down")] = None
    """How long Slurm takes a node for down. Default: `15 min`."""
    silent_minutes: Annotated[Minutes | None, Field(alias="silent")] = None
    """How long no node publishes anything while nodes run. Default: `30 min`."""

    def figure(self, name: str) -> float:
        """Return the threshold `name`, the catalog's where none was given."""
        own: float | None = getattr(self, name)
        return alarm_thresholds()[name] if own is None else own


class SlackChannel(Spec):
    """A channel of Slack; its workspace is authorized once by hand, in the console of Amazon Q Developer.

    Ids of another form have LF1183.
    """

    workspace_id: Annotated[str, Field(alias="workspace", examples=["T0123456789"])]
    """Id of the workspace, e.g. `T0123456789`."""
    channel_id: Annotated[str, Field(alias="channel", examples=["C0123456789"])]
    """Id of the channel, e.g. `C0123456789`; Amazon Q must be invited into a private one."""


class TeamsChannel(Spec):
    """A channel of Microsoft Teams; its team is authorized once by hand, in the console of Amazon Q Developer.

    Ids of another form have LF1183.
    """

    team_id: Annotated[str, Field(alias="team", examples=["01234567-89ab-cdef-0123-456789abcdef"])]
    """A UUID: the `groupId` of the channel's link."""
    tenant_id: Annotated[str, Field(alias="tenant", examples=["01234567-89ab-cdef-0123-456789abcdef"])]
    """A UUID: the `tenantId` of the channel's link."""
    channel_id: Annotated[str, Field(alias="channel", examples=["19%3a0123abcd%40thread.tacv2"])]
    """What stands after `/channel/` in the channel's link, with its `%3a` and `%40`."""


Chat = SlackChannel | TeamsChannel
"""A channel of a chat to which alarms are sent."""


class ClusterAlarms(Spec):
    """Where alarms of clusters are sent, and their thresholds. In a fleet file an ARN is short for the topic alone."""

    other_words: ClassVar[Mapping[str, str]] = {
        "email": "write `emails`, a list",
        "chat": "write `slack` or `teams`",
        "notify": "write `topic`, `emails`, `slack` or `teams`",
    }

    topic: Annotated[Topic | None, SHORTHAND] = None
    """The SNS topic that is told, by its ARN. Default: one of its own. An existing one must let CloudWatch and, with a
    budget, AWS Budgets write."""
    emails: Several[str] = ()
    """Who is told by e-mail; each has to confirm once, by a link in the first mail. Default: nobody."""
    slack: SlackChannel | None = None
    """A channel of Slack that is told. Default: none."""
    teams: TeamsChannel | None = None
    """A channel of Microsoft Teams that is told. Default: none."""
    thresholds: ClusterAlarmThresholds = ClusterAlarmThresholds()
    """From when on alarms ring."""


class BudgetDenial(Spec):
    """Who may start nothing more once the budget is spent. What runs, runs on."""

    roles: Several[str] = ()
    """Names of roles that may start no clusters, jobs, endpoints and instances any more: one at least."""
    automatically: bool = False
    """Whether it happens by itself. Default: a person approves it in the console of AWS Budgets."""


class FleetBudget(Spec):
    """A monthly sum, who is told when it is used up, and who may start nothing more then.

    It stops nothing that runs: AWS Budgets cannot stop HyperPod, jobs would lose what they did since their last
    checkpoint, and AWS bills hours to a day late. AWS itself counts every 8 to 12 hours.
    """

    other_words: ClassVar[Mapping[str, str]] = {"action": "write `deny: {roles: […]}`"}

    monthly_usd: Annotated[Dollars, Field(alias="monthly", examples=["20000 USD"])]
    """The sum of a calendar month, e.g. `20000 USD`."""
    at_percent: Several[float] = fleet_budget_facts().at_percent
    """Shares of it at which somebody is told. Default: 50, 80 and 100."""
    forecast: bool = True
    """Whether somebody is told as soon as the whole sum is to be expected. Default: yes."""
    emails: Several[str] = ()
    """Who is told by e-mail, beside the topic of `alarms`: 10 addresses at most. Default: nobody."""
    tag: tuple[str, str] | None = None
    """Key and value of the tag by which costs are counted; it must be activated for billing, or nothing counts.

    Default: all of the account.
    """
    deny: BudgetDenial | None = None
    """Who may start nothing more once it is spent. Default: nobody is kept from it; it only tells."""

    @property
    def deny_roles(self) -> tuple[str, ...]:
        """Names of the roles that may start nothing more; none where it only tells."""
        return tuple(self.deny.roles) if self.deny else ()


class MonitoringSpec(Spec):
    """What is watched of clusters and what they stand on, who is told, and what a month may cost."""

    other_words: ClassVar[Mapping[str, str]] = {
        "thresholds": "write it below `alarms`",
        "topic": "write it below `alarms`",
        "retention": "write `logs`",
        "except": "write `clusters`: those that are watched",
    }

    alarms: ClusterAlarms = ClusterAlarms()
    """Who is told, and from when on. Default: a topic of its own, to which you subscribe."""
    dashboard: bool = True
    """Whether there is a dashboard. Default: yes."""
    log_retention_days: Annotated[Days | None, Field(alias="logs")] = None
    """How long the logs of HyperPod's nodes are kept. Default: `180 days`."""
    budget: FleetBudget | None = None
    """What a month may cost. Default: no budget."""


class MetricsDestination(StrEnum):
    """Where nodes send what they measure of themselves."""

    CLOUDWATCH = "cloudwatch"
    """CloudWatch's metrics, by cluster and group, and a log with a line a node and minute."""
    PROMETHEUS = "prometheus"
    """A workspace of Amazon Managed Service for Prometheus, with a series a node."""
    NONE = "none"
    """Nowhere: nothing is measured."""


class ClusterMetrics(Spec):
    """What nodes of clusters measure of themselves each minute, and where it goes.

    Processors, memory and disks, Neuron devices or GPUs, EFA, Lustre and, by the controller, Slurm's queue and nodes:
    `llm_fleet.catalog.monitoring` names them all. Nothing is downloaded for it. Python makes one with `cloudwatch` or
    `prometheus`.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "destination": "write `to`",
        "namespace": "the namespace is `LlmFleet/Nodes`, and cannot be another",
        "interval": "nodes measure each minute",
        "logs": "write `retention`",
    }

    destination: Annotated[MetricsDestination, SHORTHAND, Field(alias="to", examples=["cloudwatch"])]
    """Where it goes: `cloudwatch`, `prometheus` (Amazon Managed Service for Prometheus) or `none`."""
    retention_days: Annotated[Days | None, Field(alias="retention")] = None
    """How long CloudWatch Logs keeps the line that each node writes each minute. Default: `14 days`."""
    workspace_arn: Annotated[str | None, Field(alias="workspace")] = None
    """ARN of an existing workspace for `prometheus`, of the fleet's region. Default: one is made, and retained."""

    @classmethod
    def cloudwatch(cls, *, retention_days: int | None = None) -> Self:
        """To CloudWatch, by cluster and group: a line a node and minute in the log `/llm-fleet/metrics/<cluster>`.

        `retention_days`: how long the lines are kept; default, 14. The metrics made of them stay for 15 months.
        """
        return cls(destination=MetricsDestination.CLOUDWATCH, retention_days=retention_days)

    @classmethod
    def prometheus(cls, *, workspace_arn: str) -> Self:
        """To a workspace of Amazon Managed Service for Prometheus of the cluster's region, with a series a node.

        `workspace_arn`: may be a token; `PrometheusWorkspace` makes a workspace.
        """
        return cls(destination=MetricsDestination.PROMETHEUS, workspace_arn=workspace_arn)

    @property
    def log_days(self) -> int:
        """For how many days CloudWatch Logs keeps the lines."""
        return metrics_retention_days() if self.retention_days is None else self.retention_days
