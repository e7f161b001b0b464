"""How a service's number of tasks follows its load."""

from aws_cdk import aws_applicationautoscaling as autoscaling
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from llm_fleet.catalog.service import scaling_facts
from llm_fleet.inference.metrics import ServiceMetrics
from llm_fleet.notifications.metric_alarms import MetricMath, ServiceMetric
from llm_fleet.spec.service import ServiceSpec

_DIMENSION = "ecs:service:DesiredCount"
_Policy = autoscaling.CfnScalingPolicy
_TOTAL = "total"


class ServiceScaling(Construct):
    """Target tracking on an ECS service; nothing at all where the number of tasks is fixed.

    What is followed is the number of requests in a task, waiting and running, towards the batch and the queue's target:
    it grows with the load and shrinks with each task, as target tracking asks of a metric. The queue alone would be 0
    at any load that the batch holds, and tasks would be thrown away until it is not.

    Application Auto Scaling acts with its service-linked role, which it makes itself. Where the collector is silent
    there is no metric, and the number stays as it is.
    """

    def __init__(
        self, scope: Construct, id: str, *, spec: ServiceSpec, metrics: ServiceMetrics, service: ecs.CfnService
    ) -> None:
        """Scale `service`, whose metrics are `metrics`, within the bounds of `spec`."""
        super().__init__(scope, id)
        self.target: autoscaling.CfnScalableTarget | None = None
        """The L1 beneath; `None` where nothing scales."""
        self.policy: autoscaling.CfnScalingPolicy | None = None
        """The L1 of the policy; `None` where nothing scales."""
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
        facts = scaling_facts()
        self.policy = _Policy(
            self,
            "Policy",
            policy_name=f"{metrics.service_name}-load",
            policy_type="TargetTrackingScaling",
            scaling_target_id=self.target.ref,
            target_tracking_scaling_policy_configuration=_configuration(
                spec,
                metrics,
                out_cooldown=facts.scale_out_cooldown_seconds,
                in_cooldown=facts.scale_in_cooldown_seconds,
            ),
        )


def _configuration(
    spec: ServiceSpec, metrics: ServiceMetrics, *, out_cooldown: int, in_cooldown: int
) -> autoscaling.CfnScalingPolicy.TargetTrackingScalingPolicyConfigurationProperty:
    requests = spec.scaling.requests_per_minute_target
    if requests is not None:
        return _Policy.TargetTrackingScalingPolicyConfigurationProperty(
            target_value=requests,
            scale_out_cooldown=out_cooldown,
            scale_in_cooldown=in_cooldown,
            predefined_metric_specification=_Policy.PredefinedMetricSpecificationProperty(
                predefined_metric_type="ALBRequestCountPerTarget",
                resource_label=f"{metrics.load_balancer}/{metrics.target_group}",
            ),
        )
    return _Policy.TargetTrackingScalingPolicyConfigurationProperty(
        target_value=metrics.batch_size + spec.queue_target,
        scale_out_cooldown=out_cooldown,
        scale_in_cooldown=in_cooldown,
        customized_metric_specification=_Policy.CustomizedMetricSpecificationProperty(
            metrics=_queries(metrics.requests_in_task())
        ),
    )


def _queries(math: MetricMath) -> list[autoscaling.CfnScalingPolicy.TargetTrackingMetricDataQueryProperty]:
    """Return `math` as Application Auto Scaling takes it: only the result is returned, a point each minute."""
    parts = [
        _Policy.TargetTrackingMetricDataQueryProperty(
            id=id, metric_stat=_statistic(metric), label=metric.label, return_data=False
        )
        for id, metric in math.metrics.items()
    ]
    total = _Policy.TargetTrackingMetricDataQueryProperty(
        id=_TOTAL, expression=math.expression, label=math.label, return_data=True
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
