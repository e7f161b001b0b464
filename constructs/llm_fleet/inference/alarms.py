"""The alarms of a service: what each looks at, when it rings, and what to do then."""

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
    """Lines of the service's log group that are counted as a metric."""

    name: str
    """Of the metric, after the service's own name."""
    pattern: str
    """In the syntax of CloudWatch Logs' metric filters."""


LOG_COUNTS = (
    # A host says so itself, in one line, before it joins the cluster.
    LogCount(name=HOST_REFUSED, pattern='{ $.event = "host-refused" }'),
    # Not what an update or scaling has stopped: those carry another code, or another reason.
    LogCount(
        name=TASK_STOPPED,
        pattern='{ ($.detail.stopCode = "EssentialContainerExited") || ($.detail.stopCode = "TaskFailedToStart") || '
        '($.detail.stoppedReason = "Task failed*") }',
    ),
)


def neuron_error_count() -> LogCount:
    """Return what is counted of the detector's log: errors that it found, not the rules that it says it has."""
    return LogCount(name=NEURON_ERROR, pattern=f'"{neuron_health_facts().log_line}" "NeuronHasError_"')


def alarm_plans(metrics: ServiceMetrics, thresholds: Alarms, *, neuron_health: bool) -> tuple[AlarmPlan, ...]:
    """Return every alarm of a service."""
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
            # TGI tells of a queue from its first request on; a silent collector has an alarm of its own.
            missing="notBreaching",
            meaning=f"For 10 minutes too many requests have waited in each task{threshold_words(waiting, '')}. Raise "
            "`scaling.maximum` (or `desired`), or give the model a larger batch; if tasks are below the maximum, look "
            "why new ones do not start (alarms HostRefused, TaskStopped).",
        ),
        AlarmPlan(
            id="TimeToFirstToken",
            measure=metrics.time_to_first_token().over(seconds=_FIVE_MINUTES),
            threshold=first,
            periods=3,
            meaning=f"For 15 minutes the first token has taken too long on average{threshold_words(first, ' s')}. With "
            "a queue: more tasks. Without: prompts are long for this model and instance; look at their lengths, tensor "
            "parallelism and instance size.",
        ),
        AlarmPlan(
            id="ServerErrors",
            measure=metrics.server_error_percent().over(seconds=_FIVE_MINUTES),
            threshold=percent,
            periods=3,
            ringing=2,
            meaning=f"Too many requests have failed in servers{threshold_words(percent, ' %')}: 5xx, and of TGI failed "
            "generations, which it answers with 424, or not at all once a stream has begun. The reason is in the "
            "service's log group, streams `task/server/...`.",
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
            meaning="Servers turn requests away with 429, since more are there than they may hold at once. Clients of "
            "OpenAI's library try again by themselves; raise `scaling.maximum`, or the server's greatest number of "
            "concurrent requests, which makes the queue longer and answers later.",
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
            meaning="The load balancer itself answers 5xx: 503 is no healthy target, 502 a server that closed the "
            "connection, 504 an answer longer than `front.longest_answer_seconds`. The access log tells which.",
        ),
        AlarmPlan(
            id="UnhealthyHosts",
            measure=metrics.unhealthy_hosts().over(seconds=_FIVE_MINUTES),
            threshold=1,
            periods=6,
            # There is no value while no target is registered, which NoHealthyHost tells.
            missing="notBreaching",
            meaning="For half an hour a target has not answered its health check. A model that is still being loaded "
            "or compiled is the harmless reason; the server's log tells how far it is. Else stop the task: ECS starts "
            "another.",
        ),
        AlarmPlan(
            id="NoHealthyHost",
            measure=metrics.healthy_hosts(),
            threshold=1,
            below=True,
            periods=5,
            missing="breaching",
            meaning="Nobody can ask the model: for 5 minutes no target has been healthy. On a first deployment it is "
            "loading. Else look at the service's events in ECS, then at HostRefused and TaskStopped.",
        ),
        AlarmPlan(
            id="NoMetrics",
            measure=metrics.scraped().over(seconds=_FIVE_MINUTES),
            threshold=1,
            below=True,
            periods=6,
            missing="breaching",
            meaning="For half an hour no collector has reached a server: nothing scales by the queue, and the alarms "
            "Queue, TimeToFirstToken and Rejected are blind. While servers answer, look at the collector's log "
            "(streams `task/collector/...`) and at the task role's right to write to the log group.",
        ),
    ]


def _of_hosts(metrics: ServiceMetrics, *, neuron_health: bool) -> list[AlarmPlan]:
    refused = metrics.of_log(HOST_REFUSED, label="hosts refused")
    stopped = metrics.of_log(TASK_STOPPED, label="tasks stopped by themselves")
    plans = [
        AlarmPlan(
            id=HOST_REFUSED,
            measure=refused.over(seconds=_FIVE_MINUTES),
            threshold=1,
            meaning="A host has refused to join the cluster: driver, devices or the model's mount are not as they must "
            'be. Its line with code and remedy: filter the log group by { $.event = "host-refused" }.',
        ),
        AlarmPlan(
            id=TASK_STOPPED,
            measure=stopped.over(seconds=3 * _FIVE_MINUTES),
            threshold=alarm_facts().task_stops,
            meaning="Within 15 minutes tasks have ended by themselves, could not start or failed their health checks. "
            "Why is in the log group: filter by { $.detail.stoppedReason = * }. Exit code 137 is too little memory, "
            "or a stop that took too long.",
        ),
    ]
    return [*plans, _of_neuron(metrics)] if neuron_health else plans


def _of_neuron(metrics: ServiceMetrics) -> AlarmPlan:
    return AlarmPlan(
        id=NEURON_ERROR,
        measure=metrics.of_log(NEURON_ERROR, label="Neuron hardware errors").over(seconds=_FIVE_MINUTES),
        threshold=1,
        meaning="The Neuron driver has reported a hardware error that does not mend itself. Replace the host: `aws "
        "autoscaling set-instance-health --health-status Unhealthy --instance-id ...`; its id is in the task of the "
        "stream `neuron-health/...` that has the line.",
    )


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
