"""Makes the number of an endpoint's instances follow its load."""

import aws_cdk as cdk
from aws_cdk import aws_applicationautoscaling as autoscaling
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from llm_fleet.catalog.endpoint_operations import budget_facts, endpoint_scaling_facts
from llm_fleet.rules.sagemaker.endpoint_scaling import least_count
from llm_fleet.sagemaker.endpoint.endpoint_scaling import EndpointScaling

_Policy = autoscaling.CfnScalingPolicy


def scaled_id(endpoint_name: str, variant_name: str) -> str:
    """Return Application Auto Scaling's name of a variant."""
    return f"endpoint/{endpoint_name}/variant/{variant_name}"


class EndpointScaler(Construct):
    """Target tracking on an endpoint's variant.

    Application Auto Scaling acts with its service-linked role, which it makes itself. It goes with the endpoint: who
    deletes that must be allowed to deregister it.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        scaling: EndpointScaling,
        endpoint_name: str,
        variant_name: str,
        instance_count: int,
        endpoint: sagemaker.CfnEndpoint,
    ) -> None:
        """Scale `endpoint`; `instance_count` is its least number where `scaling` tells none."""
        super().__init__(scope, id)
        facts = endpoint_scaling_facts()
        self.target = autoscaling.CfnScalableTarget(
            self,
            "Target",
            service_namespace="sagemaker",
            scalable_dimension=facts.dimension,
            resource_id=scaled_id(endpoint_name, variant_name),
            min_capacity=least_count(scaling, instance_count),
            max_capacity=scaling.maximum,
            # By this tag the function that ends the endpoint may deregister this target, and no other.
            tags=[cdk.CfnTag(key=budget_facts().tag, value=endpoint_name)],
        )
        """The L1 beneath."""
        self.target.add_resource_dependency(endpoint)
        self.policy = _Policy(
            self,
            "Policy",
            policy_name=f"{endpoint_name}-load",
            policy_type="TargetTrackingScaling",
            scaling_target_id=self.target.ref,
            target_tracking_scaling_policy_configuration=_configuration(scaling),
        )
        """The L1 of its policy."""


def _configuration(scaling: EndpointScaling) -> _Policy.TargetTrackingScalingPolicyConfigurationProperty:
    facts = endpoint_scaling_facts()
    per_minute = scaling.invocations_per_minute
    target, metric = (
        (facts.concurrent_requests if scaling.concurrent_requests is None else scaling.concurrent_requests)
        if per_minute is None
        else per_minute,
        facts.concurrent_metric if per_minute is None else facts.invocations_metric,
    )
    return _Policy.TargetTrackingScalingPolicyConfigurationProperty(
        target_value=target,
        scale_out_cooldown=facts.out_seconds if scaling.scale_out_seconds is None else scaling.scale_out_seconds,
        scale_in_cooldown=facts.in_seconds if scaling.scale_in_seconds is None else scaling.scale_in_seconds,
        predefined_metric_specification=_Policy.PredefinedMetricSpecificationProperty(predefined_metric_type=metric),
    )
