"""An `EndpointRollout` as CloudFormation takes it."""

from collections.abc import Sequence

from aws_cdk import aws_sagemaker as sagemaker

from llm_fleet.rules.sagemaker.endpoint_rollout import bake_seconds_of, step_percent_of, termination_wait_seconds_of
from llm_fleet.rules.sagemaker.rollout_kind import RolloutKind
from llm_fleet.sagemaker.endpoint.endpoint_rollout import EndpointRollout

_Endpoint = sagemaker.CfnEndpoint


def render_rollout(rollout: EndpointRollout, alarm_names: Sequence[str]) -> _Endpoint.DeploymentConfigProperty:
    """Return how updates reach the endpoint; `alarm_names`: its own, which roll back beside those of `rollout`."""
    alarms = [_Endpoint.AlarmProperty(alarm_name=name) for name in [*alarm_names, *rollout.alarm_names]]
    rolling = rollout.kind is RolloutKind.ROLLING
    return _Endpoint.DeploymentConfigProperty(
        auto_rollback_configuration=_Endpoint.AutoRollbackConfigProperty(alarms=alarms),
        rolling_update_policy=_rolling(rollout) if rolling else None,
        blue_green_update_policy=None if rolling else _blue_green(rollout),
    )


def _rolling(rollout: EndpointRollout) -> _Endpoint.RollingUpdatePolicyProperty:
    return _Endpoint.RollingUpdatePolicyProperty(
        maximum_batch_size=_step(rollout),
        wait_interval_in_seconds=bake_seconds_of(rollout),
        maximum_execution_timeout_in_seconds=rollout.timeout_seconds,
    )


def _blue_green(rollout: EndpointRollout) -> _Endpoint.BlueGreenUpdatePolicyProperty:
    return _Endpoint.BlueGreenUpdatePolicyProperty(
        traffic_routing_configuration=_Endpoint.TrafficRoutingConfigProperty(
            type=rollout.kind.value,
            wait_interval_in_seconds=bake_seconds_of(rollout),
            canary_size=_step(rollout) if rollout.kind is RolloutKind.CANARY else None,
            linear_step_size=_step(rollout) if rollout.kind is RolloutKind.LINEAR else None,
        ),
        termination_wait_in_seconds=termination_wait_seconds_of(rollout),
        maximum_execution_timeout_in_seconds=rollout.timeout_seconds,
    )


def _step(rollout: EndpointRollout) -> _Endpoint.CapacitySizeProperty:
    return _Endpoint.CapacitySizeProperty(type="CAPACITY_PERCENT", value=step_percent_of(rollout) or 0)
