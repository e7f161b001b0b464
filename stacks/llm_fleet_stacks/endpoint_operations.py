"""The operations of an endpoint in a fleet file, as its construct takes them."""

from typing import Any

from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.config.sagemaker.check_endpoint_operations import OperatedEndpoint
from llm_fleet.config.sagemaker.endpoint_budget import EndpointBudgetConfig
from llm_fleet.config.sagemaker.endpoint_data_capture import EndpointDataCaptureConfig
from llm_fleet.config.sagemaker.endpoint_rollout import EndpointRolloutConfig
from llm_fleet.config.sagemaker.endpoint_scaling import EndpointScalingConfig
from llm_fleet.sagemaker.endpoint.data_capture import DataCapture
from llm_fleet.sagemaker.endpoint.endpoint_alarm_thresholds import EndpointAlarmThresholds
from llm_fleet.sagemaker.endpoint.endpoint_budget import EndpointBudget
from llm_fleet.sagemaker.endpoint.endpoint_rollout import EndpointRollout
from llm_fleet.sagemaker.endpoint.endpoint_scaling import EndpointScaling
from llm_fleet.sagemaker.endpoint.endpoint_time_to_live import EndpointTimeToLive


def operations_of(scope: Construct, config: OperatedEndpoint) -> dict[str, Any]:
    """Return arguments of `HuggingFaceEndpoint`; a topic is imported below `scope`."""
    alarms, seconds = config.alarms, config.time_to_live_seconds
    return {
        "data_capture": _capture(config.data_capture),
        "scaling": _scaling(config.scaling),
        "rollout": _rollout(config.rollout),
        "time_to_live": None if seconds is None else EndpointTimeToLive(seconds=seconds),
        "budget": _budget(config.budget),
        "alarm_topic": sns.Topic.from_topic_arn(scope, "AlarmTopic", alarms.topic_arn) if alarms.topic_arn else None,
        "alarm_thresholds": EndpointAlarmThresholds(
            server_error_percent=alarms.server_error_percent,
            model_latency_seconds=alarms.model_latency_seconds,
            idle_hours=alarms.idle_hours,
        ),
    }


def _capture(config: EndpointDataCaptureConfig | None) -> DataCapture | None:
    if config is None:
        return None
    return DataCapture(
        percent=config.percent,
        inputs=config.inputs,
        outputs=config.outputs,
        uri=config.uri,
        encryption_key_arn=config.encryption_key_arn,
    )


def _scaling(config: EndpointScalingConfig | None) -> EndpointScaling | None:
    if config is None:
        return None
    return EndpointScaling(
        maximum=config.maximum,
        minimum=config.minimum,
        concurrent_requests=config.concurrent_requests,
        invocations_per_minute=config.invocations_per_minute,
        scale_out_seconds=config.scale_out_seconds,
        scale_in_seconds=config.scale_in_seconds,
    )


def _rollout(config: EndpointRolloutConfig) -> EndpointRollout:
    return EndpointRollout(
        kind=config.kind,
        percent=config.percent,
        bake_seconds=config.bake_seconds,
        termination_wait_seconds=config.termination_wait_seconds,
        timeout_seconds=config.timeout_seconds,
        alarm_names=config.alarm_names,
    )


def _budget(config: EndpointBudgetConfig | None) -> EndpointBudget | None:
    if config is None:
        return None
    return EndpointBudget(
        monthly_usd=config.monthly_usd,
        at_percent=config.at_percent,
        forecast=config.forecast,
        emails=config.emails,
        tagged_only=config.tagged_only,
    )
