"""Scaling of SageMaker endpoints: a target requires its variant, a policy has alarms, and all are deleted together.

moto registers missing variants, creates no alarms for endpoints, keeps the policies of a deregistered target and their
alarms, and returns a different error code than the service for a missing target.
"""

from typing import Any

from moto.applicationautoscaling.exceptions import AWSValidationException
from moto.applicationautoscaling.models import (
    ApplicationAutoscalingBackend,
    FakeApplicationAutoscalingPolicy,
    applicationautoscaling_backends,
)
from moto.sagemaker.models import sagemaker_backends
from moto.sagemaker.responses import SageMakerResponse

from llm_fleet_local.aws.resources.moto_fixes.json_api import Rejected
from llm_fleet_local.aws.resources.moto_fixes.kept_members import after, before, once

_DIMENSION = "sagemaker:variant:DesiredInstanceCount"


def install() -> None:
    """Validate targets, create alarms, and delete a target's policies and alarms together with it."""
    if not once(ApplicationAutoscalingBackend, "endpoints"):
        return
    backend: Any = ApplicationAutoscalingBackend
    backend.register_scalable_target = _checked(backend.register_scalable_target)
    backend.deregister_scalable_target = _deregister
    policy: Any = FakeApplicationAutoscalingPolicy
    policy.create_alarms = _with_alarms(policy.create_alarms)
    before(SageMakerResponse, "update_endpoint", _reject_another_type)
    after(SageMakerResponse, "delete_endpoint", _forget_targets)


def _checked(as_moto_does: Any) -> Any:
    def register_scalable_target(self: Any, namespace: str, r_id: str, *others: Any, **named: Any) -> Any:
        if namespace == "sagemaker" and not _variant(self.account_id, self.region_name, r_id):
            # Source: assumption endpoint-scaling-targets-need-their-variant
            raise AWSValidationException(f"The endpoint variant does not exist: {r_id}")
        return as_moto_does(self, namespace, r_id, *others, **named)

    return register_scalable_target


def _variant(account: str, region: str, resource: str) -> Any:
    _, endpoint, _, variant = resource.split("/")
    found = sagemaker_backends[account][region].endpoints.get(endpoint)
    variants: list[dict[str, Any]] = found.production_variants if found else []
    return next((one for one in variants if one["VariantName"] == variant), None)


def _deregister(self: Any, namespace: str, r_id: str, dimension: str) -> None:
    """Serve `DeregisterScalableTarget`, which also deletes the target's policies.

    Source: model botocore application-autoscaling DeregisterScalableTarget
    Source: model botocore application-autoscaling ObjectNotFoundException
    Source: assumption service-error-texts
    """
    if r_id not in self.targets.get(dimension, {}):
        raise Rejected(
            "ObjectNotFoundException",
            f"No scalable target found for service namespace: {namespace}, resource ID: {r_id}, scalable dimension: "
            f"{dimension}",
        )
    del self.targets[dimension][r_id]
    for key, policy in list(self.policies.items()):
        if (policy.service_namespace, policy.resource_id, policy.scalable_dimension) == (namespace, r_id, dimension):
            policy.delete_alarms(self.account_id, self.region_name)
            del self.policies[key]


def _with_alarms(as_moto_does: Any) -> Any:
    def create_alarms(self: Any) -> None:
        as_moto_does(self)
        if self.service_namespace == "sagemaker" and self.policy_type == "TargetTrackingScaling":
            self.alarms.extend(self._generate_ecs_alarms())  # corrected in scaling_policies.py

    return create_alarms


def _targets(account: str, region: str) -> dict[str, Any]:
    return applicationautoscaling_backends[account][region].targets.get(_DIMENSION, {})


def _reject_another_type(response: Any, requested: dict[str, Any]) -> None:
    """Reject an update that changes the instance type of a scaled variant.

    Source: document https://docs.aws.amazon.com/sagemaker/latest/dg/endpoint-scaling-update.html (2026-11)
    Source: assumption service-error-texts
    """
    backend = sagemaker_backends[response.current_account][response.region]
    endpoint = backend.endpoints.get(requested["EndpointName"])
    config: Any = backend.endpoint_configs.get(requested["EndpointConfigName"])
    if endpoint is None or config is None:
        return  # reported by the operation itself
    old: Any = backend.endpoint_configs.get(endpoint.endpoint_config_name)
    before = {one["VariantName"]: one.get("InstanceType") for one in old.production_variants} if old else {}
    for one in config.production_variants:
        name = one["VariantName"]
        scaled = f"endpoint/{requested['EndpointName']}/variant/{name}" in _targets(
            response.current_account, response.region
        )
        if scaled and before.get(name) not in (None, one.get("InstanceType")):
            raise Rejected(
                "ValidationException",
                f"The variant {name} is registered with Application Auto Scaling: deregister it before you change its "
                "instance type",
            )


def _forget_targets(response: Any, requested: dict[str, Any]) -> None:
    """Deregister the variants of a deleted endpoint, as Application Auto Scaling does without an error.

    Source: document https://docs.aws.amazon.com/sagemaker/latest/dg/endpoint-delete-with-scaling.html (2026-11)
    """
    backend = applicationautoscaling_backends[response.current_account][response.region]
    prefix = f"endpoint/{requested['EndpointName']}/variant/"
    for resource in [one for one in _targets(response.current_account, response.region) if one.startswith(prefix)]:
        _deregister(backend, "sagemaker", resource, _DIMENSION)
