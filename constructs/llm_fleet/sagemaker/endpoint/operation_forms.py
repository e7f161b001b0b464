"""Of what class each part of an endpoint's operations is, and an example for who gave something else."""

from collections.abc import Mapping

from llm_fleet.rules.inference.forms import Form, check_attributes
from llm_fleet.rules.problem import Problem
from llm_fleet.sagemaker.endpoint.data_capture import DataCapture
from llm_fleet.sagemaker.endpoint.endpoint_alarm_thresholds import EndpointAlarmThresholds
from llm_fleet.sagemaker.endpoint.endpoint_budget import EndpointBudget
from llm_fleet.sagemaker.endpoint.endpoint_rollout import EndpointRollout
from llm_fleet.sagemaker.endpoint.endpoint_scaling import EndpointScaling
from llm_fleet.sagemaker.endpoint.endpoint_time_to_live import EndpointTimeToLive
from llm_fleet.sagemaker.endpoint.operations import EndpointOperations

_FORMS: Mapping[str, Form] = {
    "data_capture": Form(
        wanted="a DataCapture", types=(DataCapture,), optional=True, remedy="write DataCapture(percent=10)"
    ),
    "scaling": Form(
        wanted="an EndpointScaling", types=(EndpointScaling,), optional=True, remedy="write EndpointScaling(maximum=4)"
    ),
    "rollout": Form(
        wanted="an EndpointRollout", types=(EndpointRollout,), remedy="write EndpointRollout.canary(), or another kind"
    ),
    "time_to_live": Form(
        wanted="an EndpointTimeToLive",
        types=(EndpointTimeToLive,),
        optional=True,
        remedy="write EndpointTimeToLive(hours=4), or leave it out for an endpoint that stays",
    ),
    "budget": Form(
        wanted="an EndpointBudget",
        types=(EndpointBudget,),
        optional=True,
        remedy='write EndpointBudget(monthly_usd=200, emails=["team@example.com"])',
    ),
    "alarm_topic": Form(
        wanted="an SNS topic",
        has=("topic_arn",),
        optional=True,
        remedy='write AlarmTopic(self, "Topic"), or sns.Topic.from_topic_arn(…)',
    ),
    "alarm_thresholds": Form(
        wanted="EndpointAlarmThresholds",
        types=(EndpointAlarmThresholds,),
        remedy="write EndpointAlarmThresholds(…), or leave it out",
    ),
}


def check_operation_forms(operations: EndpointOperations) -> list[Problem]:
    """Return a problem for each part of `operations` that is of another class."""
    return check_attributes(operations, _FORMS)
