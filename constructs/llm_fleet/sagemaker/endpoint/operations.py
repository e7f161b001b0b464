"""What goes on around an endpoint, in one value."""

from dataclasses import dataclass, field

from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns

from llm_fleet.rules.sagemaker.endpoint_scaling import initial_count
from llm_fleet.sagemaker.endpoint.data_capture import DataCapture
from llm_fleet.sagemaker.endpoint.endpoint_alarm_thresholds import EndpointAlarmThresholds
from llm_fleet.sagemaker.endpoint.endpoint_budget import EndpointBudget
from llm_fleet.sagemaker.endpoint.endpoint_rollout import EndpointRollout
from llm_fleet.sagemaker.endpoint.endpoint_scaling import EndpointScaling
from llm_fleet.sagemaker.endpoint.endpoint_time_to_live import EndpointTimeToLive


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointOperations:
    """Capture, scaling, rollout, lifetime, budget and alarms of one endpoint. Nothing is made by it."""

    data_capture: DataCapture | None = None
    """Default: nothing is kept."""
    scaling: EndpointScaling | None = None
    """Default: always as many instances."""
    rollout: EndpointRollout = field(default_factory=EndpointRollout)
    """Default: all at once, looked at for ten minutes."""
    time_to_live: EndpointTimeToLive | None = None
    """Default: it stays."""
    budget: EndpointBudget | None = None
    """Default: none."""
    alarm_topic: sns.ITopic | None = None
    """Default: nobody is told."""
    alarm_thresholds: EndpointAlarmThresholds = field(default_factory=EndpointAlarmThresholds)
    """Default: the catalog's."""
    encryption_key: kms.IKey | None = None
    """Of the log of the function that ends the endpoint, and of a bucket of its own for what is captured.

    Default: CloudWatch's own encryption, and a key of the bucket's own.
    """

    def initial_instance_count(self, instance_count: int) -> int:
        """Return with how many instances the endpoint begins."""
        return initial_count(self.scaling, instance_count)
