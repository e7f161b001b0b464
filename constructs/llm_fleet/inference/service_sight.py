"""What is seen of a service, and what follows from it: metrics, alarms, a dashboard, scaling, the devices' health."""

from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.inference.ec2_capacity import Ec2Capacity
from llm_fleet.inference.load_balancer_front import LoadBalancerFront
from llm_fleet.inference.managed_capacity import ManagedCapacity
from llm_fleet.inference.neuron_health import NeuronHealth
from llm_fleet.inference.service_alarms import ServiceAlarms
from llm_fleet.inference.service_dashboard import ServiceDashboard
from llm_fleet.inference.service_log import ServiceLog
from llm_fleet.inference.service_metrics import ServiceMetrics
from llm_fleet.inference.service_plan import ServicePlan
from llm_fleet.inference.service_scaling import ServiceScaling
from llm_fleet.inference.serving_task import ServingTask
from llm_fleet.inference.task_events import TaskEvents


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
