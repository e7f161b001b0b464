"""Two endpoints with their resources, in moto with the AWS emulator's fixes; and clients that crash."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import boto3

from llm_fleet.functions.endpoint_reaper.handler import Outcome, Reaper, Settings

REGION, ACCOUNT = "us-west-2", "123456789012"
IMAGE = f"763104351884.dkr.ecr.{REGION}.amazonaws.com/huggingface-vllm:0.27.1-transformers5.10.2-gpu-py312"
DIMENSION = "sagemaker:variant:DesiredInstanceCount"
TTL = 4 * 3600


@cache
def _client(service: str) -> Any:
    """Return a cached client: creating one takes longer than all its calls."""
    client: Any = boto3.client  # pyright: ignore[reportUnknownMemberType]
    return client(service, region_name=REGION)


class Crash(BaseException):
    """The function's process has ended."""


@dataclass
class Hosted:
    """The account, and the clients of a run of the function."""

    crash_at: int = -1
    """Number of the call after which a run crashes; default: never."""
    calls: list[str] = field(default_factory=list[str])
    """Operations that the run has called."""

    def client(self, service: str) -> Any:
        """Return a client that does not crash."""
        return _client(service)

    def make(self) -> None:
        """Create the endpoint `chat`, with scaling, rule and topic; and the endpoint `other`."""
        trust = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"sagemaker.amazonaws.com"},"Action":"sts:AssumeRole"}]}'  # noqa: E501
        role = self.client("iam").create_role(RoleName="endpoint", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
        for name in ("chat", "other"):
            self.host(name, role)
        scaling = self.client("application-autoscaling")
        where = {"ServiceNamespace": "sagemaker", "ResourceId": SETTINGS.scaled, "ScalableDimension": DIMENSION}
        scaling.register_scalable_target(**where, MinCapacity=1, MaxCapacity=3)
        metric = {"PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"}
        scaling.put_scaling_policy(
            **where,
            PolicyName="load",
            PolicyType="TargetTrackingScaling",
            TargetTrackingScalingPolicyConfiguration={"TargetValue": 60, "PredefinedMetricSpecification": metric},
        )
        self.client("events").put_rule(Name=SETTINGS.rule, ScheduleExpression="rate(15 minutes)")
        self.client("sns").create_topic(Name="pager")
        self.client("sqs").create_queue(QueueName="sent")
        self.client("sns").subscribe(
            TopicArn=SETTINGS.topic, Protocol="sqs", Endpoint=f"arn:aws:sqs:{REGION}:{ACCOUNT}:sent"
        )

    def host(self, name: str, role: str) -> None:
        """Create a model, its configuration and its endpoint."""
        sagemaker = self.client("sagemaker")
        container = {"Image": IMAGE, "Environment": {"SM_VLLM_MODEL": "EleutherAI/gpt-j-6b"}}
        sagemaker.create_model(ModelName=f"{name}-model", ExecutionRoleArn=role, PrimaryContainer=container)
        variant = {
            "VariantName": "AllTraffic",
            "ModelName": f"{name}-model",
            "InstanceType": "ml.g4dn.xlarge",
            "InitialInstanceCount": 1,
        }
        sagemaker.create_endpoint_config(EndpointConfigName=f"{name}-config", ProductionVariants=[variant])
        sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=f"{name}-config")

    def run(self, hours: float = 5, *, patience: Callable[[], float] | None = None) -> Outcome:
        """Run the function, `hours` from now; raises `Crash` after call number `crash_at`."""
        self.calls = []
        left = iter(range(100, -1, -5))  # a waiting run reaches its end, as in Lambda
        reaper = Reaper(SETTINGS, self._watched, patience=patience or (lambda: next(left)), wait=lambda seconds: None)
        return reaper.run(datetime.now(UTC) + timedelta(hours=hours))

    def there(self) -> dict[str, Any]:
        """Return all resources of the account that the function could change."""
        sagemaker, scaling = self.client("sagemaker"), self.client("application-autoscaling")
        return {
            "endpoints": {one["EndpointName"] for one in sagemaker.list_endpoints()["Endpoints"]},
            "configs": {one["EndpointConfigName"] for one in sagemaker.list_endpoint_configs()["EndpointConfigs"]},
            "models": {one["ModelName"] for one in sagemaker.list_models()["Models"]},
            "targets": len(scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"]),
            "policies": len(scaling.describe_scaling_policies(ServiceNamespace="sagemaker")["ScalingPolicies"]),
            "alarms": len(self.client("cloudwatch").describe_alarms()["MetricAlarms"]),
            "rule": self.client("events").describe_rule(Name=SETTINGS.rule)["State"],
        }

    def reported(self) -> int:
        """Return the number of messages of the topic since the last call."""
        url = self.client("sqs").get_queue_url(QueueName="sent")["QueueUrl"]
        return len(self.client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []))

    def _watched(self, service: str) -> Any:
        return _Watched(self, self.client(service))


class _Watched:
    def __init__(self, hosted: Hosted, client: Any) -> None:
        self._hosted, self._client = hosted, client

    def __getattr__(self, name: str) -> Any:
        def call(**parameters: Any) -> Any:
            hosted = self._hosted
            hosted.calls.append(name)
            try:
                return getattr(self._client, name)(**parameters)
            finally:
                if len(hosted.calls) - 1 == hosted.crash_at:
                    raise Crash

        return call


SETTINGS = Settings(
    endpoint="chat",
    config="chat-config",
    model="chat-model",
    ttl_seconds=TTL,
    rule="chat-ttl",
    scaled="endpoint/chat/variant/AllTraffic",
    topic=f"arn:aws:sns:{REGION}:{ACCOUNT}:pager",
)
BEFORE = {
    "endpoints": {"chat", "other"},
    "configs": {"chat-config", "other-config"},
    "models": {"chat-model", "other-model"},
    "targets": 1,
    "policies": 1,
    "alarms": 2,
    "rule": "ENABLED",
}
AFTER = {
    "endpoints": {"other"},
    "configs": {"other-config"},
    "models": {"other-model"},
    "targets": 0,
    "policies": 0,
    "alarms": 0,
    "rule": "DISABLED",
}
