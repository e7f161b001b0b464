"""The alarms of an inference service."""

from collections.abc import Mapping
from types import MappingProxyType

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.inference.alarm_plan import LOG_COUNTS, LogCount, alarm_plans, neuron_error_count
from llm_fleet.inference.service_metrics import ServiceMetrics
from llm_fleet.notifications.metric_alarms import AlarmPlan, acknowledge_silence, metric_alarm
from llm_fleet.spec.service import Alarms


class ServiceAlarms(Construct):
    """Alarms on queue, time to first token, errors, hosts, tasks, collector and Neuron health.

    Each has a description that says what to do. They notify `topic` when they ring and when they are quiet again; with
    no topic they are to be seen in CloudWatch and on the dashboard only.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        metrics: ServiceMetrics,
        log_group: logs.CfnLogGroup,
        thresholds: Alarms | None = None,
        topic: sns.ITopic | None = None,
        neuron_health: bool = False,
    ) -> None:
        """Make the alarms of the service whose metrics are `metrics`.

        - `log_group`: where hosts, ECS's events and the Neuron problem detector write for it.
        - `topic`: who is told. Default nobody: a topic without readers and its key would cost, and be believed in. An
          encrypted one needs a key that CloudWatch may use, which `alias/aws/sns` is not: `AlarmTopic` makes one.
        - `neuron_health`: whether there is a Neuron problem detector, so that its errors ring.
        """
        super().__init__(scope, id)
        self.plans: tuple[AlarmPlan, ...] = alarm_plans(metrics, thresholds or Alarms(), neuron_health=neuron_health)
        """What each alarm looks at and means."""
        counts = [*LOG_COUNTS, *([neuron_error_count()] if neuron_health else [])]
        self.filters: tuple[logs.CfnMetricFilter, ...] = tuple(
            _filter(self, count, metrics, log_group) for count in counts
        )
        """What is counted of the log group."""
        self.alarms: Mapping[str, cloudwatch.CfnAlarm] = MappingProxyType(
            {plan.id: metric_alarm(self, plan, name_prefix=metrics.service_name, topic=topic) for plan in self.plans}
        )
        """The L1s by the ids of their plans, e.g. `Queue`."""
        if topic is None:
            acknowledge_silence(self)


def _filter(
    scope: Construct, count: LogCount, metrics: ServiceMetrics, log_group: logs.CfnLogGroup
) -> logs.CfnMetricFilter:
    metric = metrics.of_log(count.name, label="")
    return logs.CfnMetricFilter(
        scope,
        f"{count.name}Filter",
        log_group_name=log_group.ref,
        filter_pattern=count.pattern,
        metric_transformations=[
            logs.CfnMetricFilter.MetricTransformationProperty(
                metric_namespace=metric.namespace, metric_name=metric.name, metric_value="1"
            )
        ],
    )
