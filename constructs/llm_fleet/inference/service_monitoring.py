"""Monitoring and scaling of a service: metrics, alarms, dashboard, auto scaling and Neuron device health.

Dashboard format: docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
"""

from collections.abc import Sequence
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_applicationautoscaling as autoscaling
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_events as events
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.catalog.service import scaling_facts
from llm_fleet.inference.alarms import HOST_REFUSED, NEURON_ERROR, TASK_STOPPED, ServiceAlarms
from llm_fleet.inference.capacity import Ec2Capacity, ManagedCapacity
from llm_fleet.inference.cluster import ServiceLog
from llm_fleet.inference.front import LoadBalancerFront
from llm_fleet.inference.metrics import ServiceMetrics
from llm_fleet.inference.neuron_health import NeuronHealth
from llm_fleet.inference.service_plan import ServicePlan
from llm_fleet.inference.task import ServingTask
from llm_fleet.logs import log_group_arn
from llm_fleet.notifications.metric_alarms import (
    AlarmPlan,
    MetricMath,
    ServiceMetric,
    alarm_lines,
    alarm_widget,
    graph,
    render_dashboard,
    text_widget,
)
from llm_fleet.spec.service import ServiceSpec

_DIMENSION = "ecs:service:DesiredCount"
_Policy = autoscaling.CfnScalingPolicy


class ServiceScaling(Construct):
    """Target tracking on an ECS service; creates nothing for a fixed number of tasks.

    The metric is the number of requests per task, waiting and running; the target is the batch size plus the target of
    the queue. It grows with the load and falls with each new task, as target tracking requires. The queue alone would
    be 0 at any load within the batch size, and tasks would be removed until it is not.

    Application Auto Scaling uses its service-linked role, which it creates itself. Without data of the collector there
    is no metric, and the number of tasks does not change.
    """

    def __init__(
        self, scope: Construct, id: str, *, spec: ServiceSpec, metrics: ServiceMetrics, service: ecs.CfnService
    ) -> None:
        """Scale `service` by its `metrics` within the bounds of `spec`."""
        super().__init__(scope, id)
        self.target: autoscaling.CfnScalableTarget | None = None
        """The L1 construct of the scalable target; `None` without scaling."""
        self.policy: autoscaling.CfnScalingPolicy | None = None
        """The L1 construct of the policy; `None` without scaling."""
        tasks = spec.tasks
        if not tasks.scales:
            return
        self.target = autoscaling.CfnScalableTarget(
            self,
            "Target",
            service_namespace="ecs",
            scalable_dimension=_DIMENSION,
            resource_id=f"service/{metrics.cluster_name}/{metrics.service_name}",
            min_capacity=tasks.minimum,
            max_capacity=tasks.maximum,
        )
        self.target.add_resource_dependency(service)
        self.policy = _Policy(
            self,
            "Policy",
            policy_name=f"{metrics.service_name}-load",
            policy_type="TargetTrackingScaling",
            scaling_target_id=self.target.ref,
            target_tracking_scaling_policy_configuration=_configuration(spec, metrics),
        )


def _configuration(
    spec: ServiceSpec, metrics: ServiceMetrics
) -> autoscaling.CfnScalingPolicy.TargetTrackingScalingPolicyConfigurationProperty:
    facts, requests = scaling_facts(), spec.scaling.requests_per_minute_target
    by_requests = _Policy.PredefinedMetricSpecificationProperty(
        predefined_metric_type="ALBRequestCountPerTarget",
        resource_label=f"{metrics.load_balancer}/{metrics.target_group}",
    )
    by_queue = _Policy.CustomizedMetricSpecificationProperty(metrics=_queries(metrics.requests_in_task()))
    return _Policy.TargetTrackingScalingPolicyConfigurationProperty(
        target_value=metrics.batch_size + spec.queue_target if requests is None else requests,
        scale_out_cooldown=facts.scale_out_cooldown_seconds,
        scale_in_cooldown=facts.scale_in_cooldown_seconds,
        predefined_metric_specification=None if requests is None else by_requests,
        customized_metric_specification=by_queue if requests is None else None,
    )


def _queries(math: MetricMath) -> list[autoscaling.CfnScalingPolicy.TargetTrackingMetricDataQueryProperty]:
    """Return `math` as queries of Application Auto Scaling: only the result is returned, one point per minute."""
    parts = [
        _Policy.TargetTrackingMetricDataQueryProperty(
            id=id, metric_stat=_statistic(metric), label=metric.label, return_data=False
        )
        for id, metric in math.metrics.items()
    ]
    total = _Policy.TargetTrackingMetricDataQueryProperty(
        id="total", expression=math.expression, label=math.label, return_data=True
    )
    return [*parts, total]


def _statistic(metric: ServiceMetric) -> autoscaling.CfnScalingPolicy.TargetTrackingMetricStatProperty:
    return _Policy.TargetTrackingMetricStatProperty(
        stat=metric.statistic,
        metric=_Policy.TargetTrackingMetricProperty(
            namespace=metric.namespace,
            metric_name=metric.name,
            dimensions=[
                _Policy.TargetTrackingMetricDimensionProperty(name=name, value=value)
                for name, value in metric.dimensions.items()
            ],
        ),
    )


_PRINCIPALS = ["events.amazonaws.com", "delivery.logs.amazonaws.com"]
"""Writers of events to log groups (docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-resource-based.html)."""


class TaskEvents(Construct):
    """Logs each stopped task of a service: stop code, reason and exit codes of its containers.

    EventBridge needs a CloudWatch Logs resource policy; the quota is ten for each region of an account.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster_arn: str,
        service_name: str,
        log_group: logs.CfnLogGroup,
    ) -> None:
        """Log stopped tasks of `service_name` in the cluster `cluster_arn` to `log_group`."""
        super().__init__(scope, id)
        arn = log_group_arn(self, log_group.ref)
        self.rule = events.CfnRule(
            self,
            "Rule",
            description=f"Stopped tasks of {service_name}",
            event_pattern={
                "source": ["aws.ecs"],
                "detail-type": ["ECS Task State Change"],
                "detail": {
                    "clusterArn": [cluster_arn],
                    "group": [f"service:{service_name}"],
                    "lastStatus": ["STOPPED"],
                },
            },
            targets=[events.CfnRule.TargetProperty(id="LogGroup", arn=arn)],
        )
        """The L1 construct of the rule."""
        self.policy = logs.CfnResourcePolicy(
            self,
            "Policy",
            policy_name=f"llm-fleet-{service_name}-task-events",
            policy_document=cdk.Stack.of(self).to_json_string(_policy(f"{arn}:*", rule_arn=self.rule.attr_arn)),
        )
        """The L1 construct of the resource policy for EventBridge."""


def _policy(streams: str, *, rule_arn: str) -> dict[str, object]:
    """CreateLogStream sends no source ARN, so only PutLogEvents is limited to the rule (EventBridge's guide)."""
    who = {"Effect": "Allow", "Principal": {"Service": _PRINCIPALS}, "Resource": streams}
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Sid": "MakeStreams", **who, "Action": "logs:CreateLogStream"},
            {
                "Sid": "WriteEvents",
                **who,
                "Action": "logs:PutLogEvents",
                "Condition": {"ArnEquals": {"aws:SourceArn": rule_arn}},
            },
        ],
    }


def service_dashboard(
    metrics: ServiceMetrics, plans: Sequence[AlarmPlan], *, alarm_arns: Sequence[str], tasks_at_most: int
) -> list[list[dict[str, Any]]]:
    """Return the rows of the dashboard: alarms, client metrics, server metrics, hosts, and remedies of alarms.

    `tasks_at_most`: maximum number of tasks, drawn as a line.
    """
    neuron_health = any(plan.id == NEURON_ERROR for plan in plans)
    return [
        [alarm_widget(alarm_arns)],
        _of_clients(metrics, plans),
        _of_servers(metrics, plans),
        _of_hosts(metrics, tasks_at_most=tasks_at_most, neuron_health=neuron_health),
        [text_widget(plans)],
    ]


def _of_clients(metrics: ServiceMetrics, plans: Sequence[AlarmPlan]) -> list[dict[str, Any]]:
    failures = [measure for measure in (metrics.failed(), metrics.rejected()) if measure]
    return [
        graph(
            "Time to first token, average (s)",
            metrics.time_to_first_token(),
            lines=alarm_lines("TimeToFirstToken", plans),
        ),
        graph("Time per token, average (s)", metrics.time_per_token()),
        graph("Requests and finished answers per minute", metrics.requests(), metrics.answers()),
        graph(
            "Errors per minute",
            metrics.server_errors(),
            metrics.load_balancer_errors(),
            metrics.client_errors(),
            *failures,
        ),
    ]


def _of_servers(metrics: ServiceMetrics, plans: Sequence[AlarmPlan]) -> list[dict[str, Any]]:
    batch = [{"label": "batch", "value": metrics.batch_size}]
    return [
        graph("Waiting requests per task", metrics.waiting(), lines=alarm_lines("Queue", plans)),
        graph("Requests per task (scaling metric)", metrics.requests_in_task(), metrics.running(), lines=batch),
        graph("Tokens of finished answers per minute", metrics.tokens()),
        graph("End-to-end latency, average (s)", metrics.answer_time()),
    ]


def _of_hosts(metrics: ServiceMetrics, *, tasks_at_most: int, neuron_health: bool) -> list[dict[str, Any]]:
    most = [{"label": "maximum tasks", "value": tasks_at_most}]
    refused = metrics.of_log(HOST_REFUSED, label="hosts refused")
    stopped = metrics.of_log(TASK_STOPPED, label="tasks stopped unexpectedly")
    widgets = [
        graph("Targets", metrics.healthy_hosts(), metrics.unhealthy_hosts(), lines=most),
        graph("Hosts refused, tasks stopped", refused, stopped),
        graph("Collector reached a server", metrics.scraped()),
    ]
    if not neuron_health:
        return widgets
    found = metrics.of_log(NEURON_ERROR, label="found in the kernel log")
    return [*widgets, graph("Neuron hardware errors", found)]


class ServiceMonitoring(Construct):
    """Metrics of a service and its load balancer, with alarms, a dashboard and scaling based on them."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        plan: ServicePlan,
        service: ecs.CfnService,
        cluster: ecs.CfnCluster,
        front: LoadBalancerFront,
        log: ServiceLog,
    ) -> None:
        """Create the alarms, the dashboard and the scaling."""
        super().__init__(scope, id)
        self.metrics = ServiceMetrics(
            server=plan.server.kind,
            batch_size=plan.server.batch_size,
            cluster_name=plan.name,
            service_name=plan.name,
            load_balancer=front.load_balancer_full_name,
            target_group=front.target_group_full_name,
        )
        """All metrics of the service."""
        self.scaling = ServiceScaling(self, "Scaling", spec=plan.spec, metrics=self.metrics, service=service)
        """Auto scaling of the tasks."""
        TaskEvents(self, "TaskEvents", cluster_arn=cluster.attr_arn, service_name=plan.name, log_group=log.log_group)
        alarms = plan.spec.alarms
        topic = sns.Topic.from_topic_arn(self, "AlarmTopic", alarms.topic_arn) if alarms.topic_arn else None
        self.alarms = ServiceAlarms(
            self,
            "Alarms",
            metrics=self.metrics,
            log_group=log.log_group,
            thresholds=alarms,
            topic=topic,
            neuron_health=plan.spec.watches_devices,
        )
        """The alarms of the service."""
        arns = [alarm.attr_arn for alarm in self.alarms.alarms.values()]
        most = plan.spec.tasks.maximum
        rows = service_dashboard(self.metrics, self.alarms.plans, alarm_arns=arns, tasks_at_most=most)
        self.dashboard = render_dashboard(Construct(self, "Dashboard"), "Resource", plan.name, rows)
        """The L1 construct of the dashboard."""


def watch_devices(
    scope: Construct,
    plan: ServicePlan,
    *,
    capacity: Ec2Capacity | ManagedCapacity,
    cluster: ecs.CfnCluster,
    task: ServingTask,
    log: ServiceLog,
) -> NeuronHealth | None:
    """Return the daemon `NeuronHealth` in `scope`; `None` if it is off, or AWS monitors the devices itself."""
    if not plan.spec.watches_devices or not isinstance(capacity, Ec2Capacity):
        return None
    images = plan.spec.sidecar_images
    health = NeuronHealth(
        scope,
        "NeuronHealth",
        cluster_name=cluster.ref,
        service_name=plan.name,
        execution_role_arn=task.execution_role.role_arn,
        log=log.driver("neuron-health"),
        recover=plan.spec.replaces_sick_hosts,
        auto_scaling_group_name=capacity.group.resource.ref if plan.spec.replaces_sick_hosts else None,
        detector_image=images.image("problem_detector"),
        recovery_image=images.image("recovery"),
    )
    # Deleted before the hosts: ECS does not delete a cluster with a service.
    health.service.node.add_dependency(capacity.dependencies, task.execution_role)
    return health
