"""The alarms of a service: metric, threshold, and what to do."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.catalog.service import alarm_facts, neuron_health_facts
from llm_fleet.inference.metrics import ServiceMetrics
from llm_fleet.notifications.metric_alarms import AlarmPlan, acknowledge_silence, metric_alarm, threshold_words
from llm_fleet.spec.service import Alarms

_FIVE_MINUTES = 300

HOST_REFUSED = "HostRefused"
TASK_STOPPED = "TaskStopped"
NEURON_ERROR = "NeuronError"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCount:
    """A metric filter that counts lines of the service's log group."""

    name: str
    """Suffix of the metric's name after the service's name."""
    pattern: str
    """Filter pattern of CloudWatch Logs."""


LOG_COUNTS = (
    # The host writes this line itself, before it joins the cluster.
    LogCount(name=HOST_REFUSED, pattern='{ $.event = "host-refused" }'),
    # Not tasks that an update or scaling stopped: those have another code, or another reason.
    LogCount(
        name=TASK_STOPPED,
        pattern='{ ($.detail.stopCode = "EssentialContainerExited") || ($.detail.stopCode = "TaskFailedToStart") || '
        '($.detail.stoppedReason = "Task failed*") }',
    ),
)


def neuron_error_count() -> LogCount:
    """Return the filter of errors in the detector's log; it does not match the lines that list its rules."""
    return LogCount(name=NEURON_ERROR, pattern=f'"{neuron_health_facts().log_line}" "NeuronHasError_"')


def alarm_plans(metrics: ServiceMetrics, thresholds: Alarms, *, neuron_health: bool) -> tuple[AlarmPlan, ...]:
    """Return all alarms of a service."""
    return (
        *_of_clients(metrics, thresholds),
        *_of_load_balancer(metrics),
        *_of_hosts(metrics, neuron_health=neuron_health),
    )


def _of_clients(metrics: ServiceMetrics, thresholds: Alarms) -> list[AlarmPlan]:
    facts = alarm_facts()
    waiting = thresholds.waiting_requests or facts.waiting_per_batch * metrics.batch_size
    first = thresholds.time_to_first_token_seconds or facts.time_to_first_token_seconds
    percent = thresholds.server_error_percent or facts.error_percent
    return [
        AlarmPlan(
            id="Queue",
            measure=metrics.waiting(),
            threshold=waiting,
            periods=10,
            # TGI reports the queue after its first request; a missing collector has its own alarm.
            missing="notBreaching",
            meaning=f"For 10 minutes, too many requests have waited in each task{threshold_words(waiting, '')}. Raise "
            "`scaling.maximum` (or `desired`), or set a larger batch size; if there are fewer tasks than the maximum, "
            "check why new ones do not start (alarms HostRefused, TaskStopped).",
        ),
        AlarmPlan(
            id="TimeToFirstToken",
            measure=metrics.time_to_first_token().over(seconds=_FIVE_MINUTES),
            threshold=first,
            periods=3,
            meaning=f"For 15 minutes, the average time to first token was too long{threshold_words(first, ' s')}. With "
            "a queue: add tasks. Without a queue: prompts are long for this model and instance; check their lengths, "
            "tensor parallelism and instance size.",
        ),
        AlarmPlan(
            id="ServerErrors",
            measure=metrics.server_error_percent().over(seconds=_FIVE_MINUTES),
            threshold=percent,
            periods=3,
            ringing=2,
            meaning=f"Too many requests failed in the servers{threshold_words(percent, ' %')}: 5xx, and with TGI also "
            "failed generations, for which it returns 424, or no error once a stream has begun. Look for the reason in "
            "the service's log group, streams `task/server/...`.",
        ),
        *_of_rejections(metrics),
    ]


def _of_rejections(metrics: ServiceMetrics) -> list[AlarmPlan]:
    rejected = metrics.rejected()
    if rejected is None:
        return []
    return [
        AlarmPlan(
            id="Rejected",
            measure=rejected.over(seconds=_FIVE_MINUTES),
            threshold=alarm_facts().rejected,
            periods=3,
            ringing=2,
            meaning="Servers reject requests with 429, because there are more than they can hold. Clients of OpenAI's "
            "library retry automatically; raise `scaling.maximum`, or the server's maximum concurrent requests, which "
            "makes the queue and the response time longer.",
        )
    ]


def _of_load_balancer(metrics: ServiceMetrics) -> list[AlarmPlan]:
    facts = alarm_facts()
    return [
        AlarmPlan(
            id="LoadBalancerErrors",
            measure=metrics.load_balancer_errors().over(seconds=_FIVE_MINUTES),
            threshold=facts.load_balancer_errors,
            periods=3,
            ringing=2,
            meaning="The load balancer itself returns 5xx: 503 means no healthy target, 502 that a server closed the "
            "connection, 504 an answer longer than `front.longest_answer_seconds`. The access log has the status.",
        ),
        AlarmPlan(
            id="UnhealthyHosts",
            measure=metrics.unhealthy_hosts().over(seconds=_FIVE_MINUTES),
            threshold=1,
            periods=6,
            # There is no value without registered targets, for which NoHealthyHost changes to ALARM.
            missing="notBreaching",
            meaning="For 30 minutes, a target has failed its health check. This is normal while a model is loaded "
            "or compiled; the server's log shows the progress. Otherwise stop the task: ECS starts "
            "another.",
        ),
        AlarmPlan(
            id="NoHealthyHost",
            measure=metrics.healthy_hosts(),
            threshold=1,
            below=True,
            periods=5,
            missing="breaching",
            meaning="The model is unavailable: for 5 minutes, no target was healthy. During a first deployment it is "
            "loading. Otherwise check the service's events in ECS, then the alarms HostRefused and TaskStopped.",
        ),
        AlarmPlan(
            id="NoMetrics",
            measure=metrics.scraped().over(seconds=_FIVE_MINUTES),
            threshold=1,
            below=True,
            periods=6,
            missing="breaching",
            meaning="For 30 minutes, no collector has reached a server: the service does not scale by its queue, and "
            "the alarms Queue, TimeToFirstToken and Rejected have no data. If servers respond, check the collector's "
            "log (streams `task/collector/...`) and the task role's permission to write to the log group.",
        ),
    ]


def _of_hosts(metrics: ServiceMetrics, *, neuron_health: bool) -> list[AlarmPlan]:
    refused = metrics.of_log(HOST_REFUSED, label="hosts refused")
    stopped = metrics.of_log(TASK_STOPPED, label="tasks stopped unexpectedly")
    plans = [
        AlarmPlan(
            id=HOST_REFUSED,
            measure=refused.over(seconds=_FIVE_MINUTES),
            threshold=1,
            meaning="A host did not join the cluster, because of its driver, devices or the model's mount. To find "
            'its error code and remedy, filter the log group by { $.event = "host-refused" }.',
        ),
        AlarmPlan(
            id=TASK_STOPPED,
            measure=stopped.over(seconds=3 * _FIVE_MINUTES),
            threshold=alarm_facts().task_stops,
            meaning="Within 15 minutes, tasks exited, could not start or failed their health checks. "
            "For the reason, filter the log group by { $.detail.stoppedReason = * }. Exit code 137: too little memory, "
            "or the task did not stop in time.",
        ),
    ]
    return [*plans, _of_neuron(metrics)] if neuron_health else plans


def _of_neuron(metrics: ServiceMetrics) -> AlarmPlan:
    return AlarmPlan(
        id=NEURON_ERROR,
        measure=metrics.of_log(NEURON_ERROR, label="Neuron hardware errors").over(seconds=_FIVE_MINUTES),
        threshold=1,
        meaning="The Neuron driver reported a hardware error that is not recoverable. Replace the host: `aws "
        "autoscaling set-instance-health --health-status Unhealthy --instance-id ...`; its id is in the task of the "
        "stream `neuron-health/...` that has the line.",
    )


class ServiceAlarms(Construct):
    """Alarms on queue, time to first token, errors, hosts, tasks, collector and Neuron health.

    Each description says what to do. They notify `topic` when they change to ALARM and to OK; without a topic they
    are visible only in CloudWatch and on the dashboard.
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
        """Create the alarms of the service with these `metrics`.

        - `log_group`: hosts, ECS's events and the Neuron problem detector write to it.
        - `topic`: receives notifications. Default: none. An encrypted topic needs a KMS key that CloudWatch can use,
          which `alias/aws/sns` is not: `AlarmTopic` creates one.
        - `neuron_health`: whether there is a Neuron problem detector, to add an alarm on its errors.
        """
        super().__init__(scope, id)
        self.plans: tuple[AlarmPlan, ...] = alarm_plans(metrics, thresholds or Alarms(), neuron_health=neuron_health)
        """Metric and meaning of each alarm."""
        counts = [*LOG_COUNTS, *([neuron_error_count()] if neuron_health else [])]
        self.filters: tuple[logs.CfnMetricFilter, ...] = tuple(
            _filter(self, count, metrics, log_group) for count in counts
        )
        """The metric filters of the log group."""
        self.alarms: Mapping[str, cloudwatch.CfnAlarm] = MappingProxyType(
            {plan.id: metric_alarm(self, plan, name_prefix=metrics.service_name, topic=topic) for plan in self.plans}
        )
        """The L1 constructs by plan id, e.g. `Queue`."""
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
