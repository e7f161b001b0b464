"""What is seen of a service, and what follows from it: metrics, alarms, a dashboard, scaling, the devices' health.

The dashboard of a service, as CloudWatch takes it.

Its form: docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
"""

from collections.abc import Sequence
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.inference.alarms import HOST_REFUSED, NEURON_ERROR, TASK_STOPPED, ServiceAlarms
from llm_fleet.inference.capacity import Ec2Capacity, ManagedCapacity
from llm_fleet.inference.cluster import ServiceLog, TaskEvents
from llm_fleet.inference.front import LoadBalancerFront
from llm_fleet.inference.metrics import ServiceMetrics
from llm_fleet.inference.neuron_health import NeuronHealth
from llm_fleet.inference.scaling import ServiceScaling
from llm_fleet.inference.service_plan import ServicePlan
from llm_fleet.inference.task import ServingTask
from llm_fleet.notifications.metric_alarms import AlarmPlan, alarm_lines, alarm_widget, graph, page, text_widget


def dashboard_body(
    metrics: ServiceMetrics, plans: Sequence[AlarmPlan], *, alarm_arns: Sequence[str], region: str, tasks_at_most: int
) -> dict[str, Any]:
    """Return the dashboard: alarms, what clients feel, what servers do, hosts, and what to do about alarms.

    `tasks_at_most`: how many tasks there may be, drawn as a line.
    """
    neuron_health = any(plan.id == NEURON_ERROR for plan in plans)
    rows = [
        [alarm_widget(alarm_arns)],
        _of_clients(metrics, plans),
        _of_servers(metrics, plans),
        _of_hosts(metrics, tasks_at_most=tasks_at_most, neuron_health=neuron_health),
        [text_widget(plans)],
    ]
    return page(rows, region)


def _of_clients(metrics: ServiceMetrics, plans: Sequence[AlarmPlan]) -> list[dict[str, Any]]:
    told = [measure for measure in (metrics.failed(), metrics.rejected()) if measure]
    return [
        graph(
            "Time to first token, average (s)",
            metrics.time_to_first_token(),
            lines=alarm_lines("TimeToFirstToken", plans),
        ),
        graph("Time per token, average (s)", metrics.time_per_token()),
        graph("Requests and finished answers, a minute", metrics.requests(), metrics.answers()),
        graph(
            "Errors, a minute",
            metrics.server_errors(),
            metrics.load_balancer_errors(),
            metrics.client_errors(),
            *told,
        ),
    ]


def _of_servers(metrics: ServiceMetrics, plans: Sequence[AlarmPlan]) -> list[dict[str, Any]]:
    batch = [{"label": "batch", "value": metrics.batch_size}]
    return [
        graph("Requests waiting in a task", metrics.waiting(), lines=alarm_lines("Queue", plans)),
        graph("Requests in a task: what scaling follows", metrics.requests_in_task(), metrics.running(), lines=batch),
        graph("Tokens of finished answers, a minute", metrics.tokens()),
        graph("Whole answer, average (s)", metrics.answer_time()),
    ]


def _of_hosts(metrics: ServiceMetrics, *, tasks_at_most: int, neuron_health: bool) -> list[dict[str, Any]]:
    most = [{"label": "tasks at most", "value": tasks_at_most}]
    refused = metrics.of_log(HOST_REFUSED, label="hosts refused")
    stopped = metrics.of_log(TASK_STOPPED, label="tasks stopped by themselves")
    widgets = [
        graph("Targets", metrics.healthy_hosts(), metrics.unhealthy_hosts(), lines=most),
        graph("Hosts refused, tasks stopped", refused, stopped),
        graph("Collector reached a server", metrics.scraped()),
    ]
    if not neuron_health:
        return widgets
    found = metrics.of_log(NEURON_ERROR, label="found in the kernel's log")
    return [*widgets, graph("Neuron hardware errors", found)]


class ServiceDashboard(Construct):
    """One page on a service: its alarms, what clients feel, what servers do, its hosts, and what to do about alarms."""

    def __init__(
        self, scope: Construct, id: str, *, metrics: ServiceMetrics, alarms: ServiceAlarms, tasks_at_most: int
    ) -> None:
        """Make `<service>-<region>`: an account has a dashboard of one name in all its regions (API_PutDashboard).

        `tasks_at_most`: how many tasks there may be.
        """
        super().__init__(scope, id)
        stack = cdk.Stack.of(self)
        body = dashboard_body(
            metrics,
            alarms.plans,
            alarm_arns=[alarm.attr_arn for alarm in alarms.alarms.values()],
            region=stack.region,
            tasks_at_most=tasks_at_most,
        )
        self.dashboard = cloudwatch.CfnDashboard(
            self,
            "Resource",
            dashboard_name=f"{metrics.service_name}-{stack.region}",
            dashboard_body=stack.to_json_string(body),
        )
        """The L1 beneath."""


class ServiceSight(Construct):
    """Metrics of a service and of its load balancer, with alarms, a dashboard and scaling made of the same."""

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
        """Make it."""
        super().__init__(scope, id)
        self.metrics = ServiceMetrics(
            server=plan.server.kind,
            batch_size=plan.server.batch_size,
            cluster_name=plan.name,
            service_name=plan.name,
            load_balancer=front.load_balancer_full_name,
            target_group=front.target_group_full_name,
        )
        """Every metric, as data."""
        self.scaling = ServiceScaling(self, "Scaling", spec=plan.spec, metrics=self.metrics, service=service)
        """What the number of tasks follows."""
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
        """The alarms."""
        self.dashboard = ServiceDashboard(
            self, "Dashboard", metrics=self.metrics, alarms=self.alarms, tasks_at_most=plan.spec.tasks.maximum
        )
        """The dashboard."""


def watch_devices(
    scope: Construct,
    plan: ServicePlan,
    *,
    capacity: Ec2Capacity | ManagedCapacity,
    cluster: ecs.CfnCluster,
    task: ServingTask,
    log: ServiceLog,
) -> NeuronHealth | None:
    """Return the daemon `NeuronHealth` in `scope`; nothing where nobody asked, or AWS watches the devices itself."""
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
    # Gone before the hosts go: a cluster with a service is not deleted.
    health.service.node.add_dependency(capacity.dependencies, task.execution_role)
    return health
