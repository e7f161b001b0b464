"""Scaling policies of ECS services and SageMaker endpoints: alarms on the tracked metric, and a target for each.

moto creates CPU alarms for any tracked metric, accepts an empty policy, changes the ARN of an updated policy, and has
no tags. The service chooses the thresholds of real alarms; here they are the target value and 90 percent of it.

Source: model botocore application-autoscaling PutScalingPolicy
"""

from typing import Any

from moto.applicationautoscaling.exceptions import AWSValidationException
from moto.applicationautoscaling.models import ApplicationAutoscalingBackend, FakeApplicationAutoscalingPolicy
from moto.applicationautoscaling.responses import ApplicationAutoScalingResponse
from moto.cloudwatch.models import cloudwatch_backends
from moto.elbv2.models import elbv2_backends

from llm_fleet_local.aws.resources.moto_fixes.json_api import Rejected, install_operation
from llm_fleet_local.aws.resources.moto_fixes.kept_members import once

_PREDEFINED = {
    "ECSServiceAverageCPUUtilization": ("AWS/ECS", "CPUUtilization"),
    "ECSServiceAverageMemoryUtilization": ("AWS/ECS", "MemoryUtilization"),
    "ALBRequestCountPerTarget": ("AWS/ApplicationELB", "RequestCountPerTarget"),
    "SageMakerVariantInvocationsPerInstance": ("AWS/SageMaker", "InvocationsPerInstance"),
    "SageMakerVariantConcurrentRequestsPerModelHighResolution": ("AWS/SageMaker", "ConcurrentRequestsPerModel"),
}


def install() -> None:
    """Validate policies and create their alarms."""
    if not once(FakeApplicationAutoscalingPolicy, "alarms"):
        return
    FakeApplicationAutoscalingPolicy._generate_ecs_alarms = _alarms  # pyright: ignore[reportPrivateUsage]
    ApplicationAutoscalingBackend.put_scaling_policy = _checked(ApplicationAutoscalingBackend.put_scaling_policy)
    for operation, handler in (("TagResource", _tag), ("UntagResource", _untag), ("ListTagsForResource", _tags)):
        install_operation(
            ApplicationAutoScalingResponse, "application-autoscaling", operation, handler, invalid="ValidationException"
        )


def _tag(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    _tags_of(response, params).update(params["Tags"])
    return {}


def _untag(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    for key in params["TagKeys"]:
        _tags_of(response, params).pop(key, None)
    return {}


def _tags(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    return {"Tags": _tags_of(response, params)}


def _tags_of(response: Any, params: dict[str, Any]) -> dict[str, str]:
    wanted = params["ResourceARN"]
    for targets in response.applicationautoscaling_backend.targets.values():
        for target in targets.values():
            if target.arn == wanted:
                return target.__dict__.setdefault("tags", {})
    # Source: model botocore application-autoscaling ResourceNotFoundException
    # Source: assumption service-error-texts
    raise Rejected("ResourceNotFoundException", f"Unknown scalable target {wanted}")


def _checked(as_moto_does: Any) -> Any:
    def put_scaling_policy(self: Any, **named: Any) -> Any:
        resource, dimension = named["resource_id"], named["scalable_dimension"]
        if resource not in self.targets.get(dimension, {}):
            # Source: model botocore application-autoscaling ObjectNotFoundException
            # Source: recorded cloudposse/terraform-aws-ecs-cloudwatch-autoscaling#36, text of the error (2024-07-02)
            raise Rejected(
                "ObjectNotFoundException",
                f"No scalable target registered for service namespace: {named['service_namespace']}, resource ID: "
                f"{resource}, scalable dimension: {dimension}",
            )
        label = named["policy_body"].get("PredefinedMetricSpecification", {}).get("ResourceLabel")
        if label is not None:
            _check_label(label, self.account_id, self.region_name)
        key = (named["service_namespace"], resource, dimension, named["policy_name"])
        there = self.policies.get(FakeApplicationAutoscalingPolicy.formulate_key(*key))
        if there is not None and there.policy_type == named["policy_type"]:
            return _changed(there, named["policy_body"])
        return as_moto_does(self, **named)

    return put_scaling_policy


def _changed(policy: Any, body: dict[str, Any]) -> Any:
    """Change a policy and its alarms; the ARN stays the same.

    Source: model CloudFormation AWS::ApplicationAutoScaling::ScalingPolicy (primaryIdentifier; its configuration is
    not createOnly)
    """
    kind = "step" if policy.policy_type == "StepScaling" else "target_tracking"
    setattr(policy, f"{kind}_scaling_policy_configuration", body)
    policy._policy_body = body
    policy.alarms = []
    policy.create_alarms()
    return policy


def _check_label(label: str, account: str, region: str) -> None:
    """Reject a label whose load balancer and target group do not belong together.

    Format: `app/<load balancer>/<id>/targetgroup/<group>/<id>`.

    Source: model botocore application-autoscaling PredefinedMetricSpecification (ResourceLabel)
    Source: assumption service-error-texts
    """
    backend = elbv2_backends[account][region]
    balancer, mark, group = label.partition("/targetgroup/")
    balancers = [one for one in backend.load_balancers if one.endswith(f":loadbalancer/{balancer}")]
    groups = [one for one in backend.target_groups.values() if one.arn.endswith(f":targetgroup/{group}")]
    if not mark or not balancers or not groups or balancers[0] not in groups[0].load_balancer_arns:
        raise AWSValidationException(f"Target group specified by ResourceLabel {label} is not attached to a balancer")


def _alarms(self: Any) -> list[Any]:
    config: dict[str, Any] = self.target_tracking_scaling_policy_configuration
    target = float(config["TargetValue"])
    metric = _metric(self, config)
    action = f"{self.policy_arn}:createdBy/{self._guid}"
    sides = [("AlarmHigh", "GreaterThanThreshold", 3, target)]
    if not config.get("DisableScaleIn"):
        sides.append(("AlarmLow", "LessThanThreshold", 15, target * 0.9))
    return [
        cloudwatch_backends[self.account_id][self.region_name].put_metric_alarm(
            name=f"TargetTracking-{self.resource_id}-{side}-{self._guid}",
            comparison_operator=comparison,
            evaluation_periods=periods,
            threshold=threshold,
            description=f"DO NOT EDIT OR DELETE. For TargetTrackingScaling policy {action}",
            alarm_actions=[action],
            **metric,
        )
        for side, comparison, periods, threshold in sides
    ]


def _dimensions(resource: str) -> list[dict[str, str]]:
    """Return the dimensions of `service/<cluster>/<service>` or `endpoint/<endpoint>/variant/<variant>`."""
    if resource.startswith("endpoint/"):
        _, endpoint, _, variant = resource.split("/")
        return [{"Name": "EndpointName", "Value": endpoint}, {"Name": "VariantName", "Value": variant}]
    _, cluster, service = resource.split("/")
    return [{"Name": "ClusterName", "Value": cluster}, {"Name": "ServiceName", "Value": service}]


def _metric(self: Any, config: dict[str, Any]) -> dict[str, Any]:
    dimensions = _dimensions(self.resource_id)
    if custom := config.get("CustomizedMetricSpecification"):
        return {
            "namespace": custom.get("Namespace"),
            "metric_name": custom.get("MetricName"),
            "metric_data_queries": [],
            "dimensions": custom.get("Dimensions", []),
            "statistic": custom.get("Statistic"),
            "unit": custom.get("Unit"),
            "period": 60,
        }
    predefined: dict[str, str] = config.get("PredefinedMetricSpecification", {})
    namespace, name = _PREDEFINED.get(predefined.get("PredefinedMetricType", ""), ("AWS/ECS", "CPUUtilization"))
    if label := predefined.get("ResourceLabel"):
        dimensions = [{"Name": "TargetGroup", "Value": f"targetgroup/{label.partition('/targetgroup/')[2]}"}]
    return {
        "namespace": namespace,
        "metric_name": name,
        "metric_data_queries": [],
        "dimensions": dimensions,
        "statistic": "Sum" if label else "Average",
        "unit": None,
        "period": 60,
    }
