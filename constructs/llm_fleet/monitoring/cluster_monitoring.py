"""Monitoring of a fleet's clusters: alarms, dashboard, budget, chat."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.catalog.monitoring import log_retention_days as usual_retention
from llm_fleet.monitoring.alarm_plans import account_alarm_plans, node_alarm_plans
from llm_fleet.monitoring.cluster_observer import ClusterObserver, observer_plans
from llm_fleet.monitoring.monitored_cluster import (
    ClusterKind,
    MonitoredCluster,
    NamedCluster,
    monitored,
    monitoring_dashboard,
)
from llm_fleet.monitoring.storage_alarm_plans import (
    WatchedDatabase,
    WatchedFileSystem,
    capacity_of,
    database_plans,
    dimensions_of,
    lustre_plan,
    open_zfs_plan,
)
from llm_fleet.notifications.alarm_topic import AlarmTopic, BudgetWithAction, ChatConfiguration
from llm_fleet.notifications.metric_alarms import AlarmPlan, MetricAlarms
from llm_fleet.references import topic_of
from llm_fleet.rules.fields import Form, check_form, check_forms, check_is_spec
from llm_fleet.rules.monitoring import (
    check_chat,
    check_monitoring_name,
    check_monitoring_spec,
    check_something_watched,
    check_watched_names,
)
from llm_fleet.rules.problem import Problem, is_unresolved, raise_problems
from llm_fleet.sagemaker.watch_events import text_at_synth
from llm_fleet.spec.monitoring import Chat, ClusterAlarms, MonitoringSpec

_FORMS: Mapping[str, Form] = {
    "name": Form(wanted="a string", types=(str,), remedy='write a name, e.g. "my-fleet"'),
    "clusters": Form(wanted="a list of clusters", types=(list, tuple), remedy="write clusters=[cluster]"),
    "log_encryption_key": Form(
        wanted="a KMS key", has=("key_arn",), optional=True, remedy='write FleetKey(self, "Key"), or omit it'
    ),
    "lustre": Form(
        wanted="a file system",
        has=("file_system_id",),
        optional=True,
        remedy="write lustre=file_system",
    ),
    "open_zfs": Form(
        wanted="a file system",
        has=("file_system_id",),
        optional=True,
        remedy="write open_zfs=file_system, or omit it",
    ),
    "database": Form(
        wanted="a SlurmDatabase", has=("metric",), optional=True, remedy="write database=database, or omit it"
    ),
}
_CLUSTER = Form(
    wanted="a cluster", has=("cluster_name",), remedy='write the cluster, or MonitoredCluster.hyperpod("train")'
)


def check_monitoring(path: str, spec: MonitoringSpec, **arguments: Any) -> None:
    """Raise `FleetError` with all problems of `spec` and `arguments` of the monitoring at `path`."""
    problems = check_is_spec(spec, MonitoringSpec, "spec") or check_monitoring_spec(spec)
    problems += check_forms(arguments, _FORMS)
    wrong = {problem.path[0] for problem in problems}
    clusters: list[Any] = [] if "clusters" in wrong else arguments["clusters"]
    problems += [each for n, item in enumerate(clusters) for each in _check_cluster(item, n)]
    wrong = {problem.path[0] for problem in problems}
    if "name" not in wrong:
        problems += check_monitoring_name(arguments["name"])
    parts = [arguments[name] for name in ("lustre", "open_zfs", "database")]
    number = 1
    if "clusters" not in wrong:
        names = [monitored(cluster).name for cluster in clusters]
        problems += check_watched_names(names, known=names)
        number = len(names)
    if "spec" not in wrong:
        watched = number + sum(part is not None for part in parts)
        problems += check_something_watched(parts=watched, budget=spec.budget is not None)
    raise_problems(problems, subject=path)


def _check_cluster(item: Any, index: int) -> list[Problem]:
    return [] if isinstance(item, MonitoredCluster) else check_form(item, _CLUSTER, "clusters", index)


class ClusterMonitoring(Construct):
    """Actionable alarms on clusters, with a topic, a dashboard, a budget and chat channels.

    It refers to clusters by name and can be deployed before them, so that a cluster's log group has its retention
    before its first node writes, and a failed first creation is visible. A missing cluster publishes nothing and causes
    no alarm. For HyperPod events use `TrainingWatch(clusters=…)` with this `topic`; these alarms are on lasting states.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        spec: MonitoringSpec = MonitoringSpec(),  # noqa: B008 - immutable
        *,
        name: str,
        clusters: Sequence[MonitoredCluster | NamedCluster] = (),
        lustre: WatchedFileSystem | None = None,
        open_zfs: WatchedFileSystem | None = None,
        database: WatchedDatabase | None = None,
        log_encryption_key: kms.IKey | None = None,
    ) -> None:
        """Monitor `clusters`, their file systems and their database.

        - `spec`: topic, thresholds, dashboard, retention and budget. Default: default alarms and a new topic.
        - `name`: 1 to 63 letters, digits and hyphens, unique in account and region: prefix of alarm names.
        - `clusters`: `MonitoredCluster.hyperpod("train", node_metrics=True)`, or cluster constructs, of which only
          metrics of the account are monitored.
        - `lustre`, `open_zfs`, `database`: monitors their capacity. Default: none; add more with `add_lustre` etc.
        - `log_encryption_key`: encrypts HyperPod's log groups, which are retained. Default: CloudWatch's own
          encryption.

        Raises `FleetError` with all of: LF113 for a value of another class, LF1180 and LF1182 to LF1188 for `spec`,
        LF1189 for the name, LF1181 for a duplicate cluster, LF1190 for nothing to monitor.
        """
        super().__init__(scope, id)
        check_monitoring(
            self.node.path,
            spec,
            name=name,
            clusters=clusters,
            log_encryption_key=log_encryption_key,
            lustre=lustre,
            open_zfs=open_zfs,
            database=database,
        )
        self._name = name
        self._limits = spec.alarms.thresholds
        self._chats = 0
        self._alarms: dict[str, cloudwatch.CfnAlarm] = {}
        self._storage_plans: list[AlarmPlan] = []
        self.clusters: tuple[MonitoredCluster, ...] = tuple(monitored(cluster) for cluster in clusters)
        """The monitored clusters."""
        self.topic: sns.ITopic = (
            topic_of(self, "Told", spec.alarms.topic)  # codespell:ignore told
            or AlarmTopic(self, "Topic")
        )
        """Receives notifications; subscribe to it to add recipients."""
        self._report(spec.alarms)
        self._cluster_plans = [self._watch(number, cluster) for number, cluster in enumerate(self.clusters)]
        self.observer: ClusterObserver | None = self._observe(
            usual_retention() if spec.log_retention_days is None else spec.log_retention_days, log_encryption_key
        )
        """The function that checks clusters; `None` without clusters."""
        if lustre is not None:
            self.add_lustre("Lustre", lustre)
        if open_zfs is not None:
            self.add_open_zfs("OpenZfs", open_zfs)
        if database is not None:
            self.add_database("Database", database)
        self.budget: BudgetWithAction | None = spec.budget and BudgetWithAction(
            self, "Budget", budget=spec.budget, topic=self.topic
        )
        """The budget; `None` without one."""
        self.dashboard: cloudwatch.CfnDashboard | None = self._make_dashboard() if spec.dashboard else None
        """The L1 construct of the dashboard, `<name>-clusters-<region>`; `None` without one."""

    @property
    def alarms(self) -> Mapping[str, cloudwatch.CfnAlarm]:
        """The L1 constructs of all alarms: by `<cluster>/<id>` for clusters, e.g. `train/NodeFailed`; others by id."""
        return MappingProxyType(self._alarms)

    def add_lustre(self, id: str, file_system: WatchedFileSystem, *, storage_capacity_gib: int | None = None) -> None:
        """Monitor the capacity of a Lustre file system; `id`: letters and digits, the suffix of the alarm's name.

        `storage_capacity_gib`: default, that of a file system of this app. Without it, the alarm is on free bytes.
        Elastic storage (INTELLIGENT_TIERING) has no capacity and no alarm.
        """
        elastic, capacity = capacity_of(file_system)
        if not elastic:
            size = storage_capacity_gib or capacity
            self._add_storage(id, [lustre_plan(id, file_system.file_system_id, size, self._limits)])

    def add_open_zfs(self, id: str, file_system: WatchedFileSystem) -> None:
        """Monitor the capacity of an OpenZFS file system; `id`: letters and digits, the suffix of the alarm's name."""
        self._add_storage(id, [open_zfs_plan(id, file_system.file_system_id, self._limits)])

    def add_database(self, id: str, database: WatchedDatabase) -> None:
        """Monitor Slurm's accounting database; `id`: letters and digits, the suffix of its alarms' names."""
        self._add_storage(id, database_plans(id, dimensions_of(database)))

    def add_chat(self, channel: Chat) -> None:
        """Send alarms to another Slack or Teams channel. Raises `FleetError` (LF1183) for invalid ids."""
        raise_problems(check_chat(channel), subject=self.node.path)
        name = f"{self._name}-alarms-{self._chats}"
        ChatConfiguration(self, f"Chat{self._chats}", name=name, channel=channel, topic=self.topic)
        self._chats += 1

    def _report(self, alarms: ClusterAlarms) -> None:
        for number, email in enumerate(alarms.emails):
            sns.CfnSubscription(
                self, f"Email{number}", topic_arn=self.topic.topic_arn, protocol="email", endpoint=email
            )
        for channel in (alarms.slack, alarms.teams):
            if channel is not None:
                self.add_chat(channel)

    def _watch(self, number: int, cluster: MonitoredCluster) -> Sequence[AlarmPlan]:
        id = f"Cluster-{number if is_unresolved(cluster.name) else cluster.name}"
        plans = [*account_alarm_plans(cluster, self._limits), *node_alarm_plans(cluster, self._limits)]
        made = self._make_alarms(id, plans, f"{self._name}-{cluster.name}")
        self._alarms |= {f"{cluster.name}/{id}": alarm for id, alarm in made.items()}
        return plans

    def _observe(self, retention_days: int, key: kms.IKey | None) -> ClusterObserver | None:
        if not self.clusters:
            return None
        kinds: dict[str, ClusterKind] = {cluster.name: cluster.kind for cluster in self.clusters}
        observer = ClusterObserver(
            self, "Observer", clusters=kinds, retention_days=retention_days, log_encryption_key=key
        )
        self._alarms |= self._make_alarms("ObserverAlarms", observer_plans(observer.function.function.ref), self._name)
        return observer

    def _add_storage(self, id: str, plans: Sequence[AlarmPlan]) -> None:
        self._storage_plans += plans
        self._alarms |= self._make_alarms(f"Storage-{id}", plans, self._name)

    def _make_alarms(self, id: str, plans: Sequence[AlarmPlan], prefix: str) -> Mapping[str, cloudwatch.CfnAlarm]:
        return MetricAlarms(self, id, plans=plans, name_prefix=prefix, topic=self.topic).alarms

    def _make_dashboard(self) -> cloudwatch.CfnDashboard:
        stack = cdk.Stack.of(self)
        return cloudwatch.CfnDashboard(
            self,
            "Dashboard",
            dashboard_name=f"{self._name}-clusters-{stack.region}",
            dashboard_body=text_at_synth(self._dashboard_body),
        )

    def _dashboard_body(self) -> str:
        stack = cdk.Stack.of(self)
        body = monitoring_dashboard(
            self.clusters,
            self._cluster_plans,
            self._storage_plans,
            alarm_arns=[alarm.attr_arn for alarm in self._alarms.values()],
            region=stack.region,
        )
        return stack.to_json_string(body)
