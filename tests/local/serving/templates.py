"""A small template with the shapes that the constructs synthesize; each part can be replaced."""

import json
from collections.abc import Mapping
from typing import Any

TGI_IMAGE = (
    "763104351884.dkr.ecr.us-west-2.amazonaws.com/huggingface-pytorch-tgi-inference"
    ":2.7.0-optimum3.3.6-neuronx-py310-ubuntu22.04"
)
TGI_ENVIRONMENT = {
    "MODEL_ID": "/models/chat",
    "PORT": "8080",
    "HF_NUM_CORES": "2",
    "HF_AUTO_CAST_TYPE": "bf16",
    "MAX_BATCH_SIZE": "2",
    "MAX_TOTAL_TOKENS": "400",
    "MAX_INPUT_TOKENS": "200",
    "MAX_CONCURRENT_REQUESTS": "4",
    "GRACEFUL_TERMINATION_TIMEOUT": "90",
}
ELB = "AWS::ElasticLoadBalancingV2::"
FORWARD = [{"Type": "forward", "TargetGroupArn": {"Ref": "Group"}}]
NOT_FOUND = [
    {"Type": "fixed-response", "FixedResponseConfig": {"StatusCode": "404", "ContentType": "application/json"}}
]


def paths(*patterns: str) -> dict[str, Any]:
    return {"Field": "path-pattern", "PathPatternConfig": {"Values": list(patterns)}}


def rule(priority: int, conditions: list[Any], actions: list[Any] = FORWARD) -> dict[str, Any]:
    return {
        "Type": f"{ELB}ListenerRule",
        "Properties": {
            "ListenerArn": {"Ref": "Listener"},
            "Priority": priority,
            "Conditions": conditions,
            "Actions": actions,
        },
    }


def server(
    *,
    image: str = TGI_IMAGE,
    environment: Mapping[str, str] | None = None,
    command: tuple[str, ...] = (),
    entry_point: tuple[str, ...] = ("text-generation-launcher",),
    key: str | None = "API_KEY",
    stop_timeout: int = 120,
) -> dict[str, Any]:
    environment = TGI_ENVIRONMENT if environment is None else environment
    return {
        "Name": "server",
        "Image": image,
        "EntryPoint": list(entry_point),
        "Command": list(command),
        "Environment": [{"Name": name, "Value": value} for name, value in environment.items()],
        "Secrets": [{"Name": key, "ValueFrom": {"Ref": "Key"}}] if key else [],
        "PortMappings": [{"ContainerPort": 8080}],
        "StopTimeout": stop_timeout,
    }


def template(
    *,
    container: Mapping[str, Any] | None = None,
    rules: Mapping[str, Any] | None = None,
    attributes: Mapping[str, str] | None = None,
    idle_timeout: int = 600,
    desired: int = 1,
    others: Mapping[str, Any] | None = None,
) -> str:
    """Return the JSON of a service with a load balancer: `/health` and `/v1/*` forwarded, everything else 404."""
    rules = {"Health": rule(10, [paths("/health")]), "Api": rule(20, [paths("/v1/*")])} if rules is None else rules
    attributes = {
        "deregistration_delay.timeout_seconds": "600",
        "load_balancing.algorithm.type": "least_outstanding_requests",
        **(attributes or {}),
    }
    resources: dict[str, Any] = {
        "Key": {"Type": "AWS::SecretsManager::Secret", "Properties": {}},
        "Balancer": {
            "Type": f"{ELB}LoadBalancer",
            "Properties": {
                "Type": "application",
                "LoadBalancerAttributes": [{"Key": "idle_timeout.timeout_seconds", "Value": str(idle_timeout)}],
            },
        },
        "Group": {
            "Type": f"{ELB}TargetGroup",
            "Properties": {
                "TargetType": "ip",
                "Port": 8080,
                "HealthCheckPath": "/health",
                "HealthCheckIntervalSeconds": 15,
                "HealthCheckTimeoutSeconds": 10,
                "HealthyThresholdCount": 2,
                "UnhealthyThresholdCount": 3,
                "TargetGroupAttributes": [{"Key": key, "Value": value} for key, value in attributes.items()],
            },
        },
        "Listener": {
            "Type": f"{ELB}Listener",
            "Properties": {
                "LoadBalancerArn": {"Ref": "Balancer"},
                "Port": 80,
                "Protocol": "HTTP",
                "DefaultActions": NOT_FOUND,
            },
        },
        **rules,
        "Task": {
            "Type": "AWS::ECS::TaskDefinition",
            "Properties": {"ContainerDefinitions": [container or server()]},
        },
        "Service": {
            "Type": "AWS::ECS::Service",
            "Properties": {
                "ServiceName": "chat",
                "DesiredCount": desired,
                "TaskDefinition": {"Ref": "Task"},
                "LoadBalancers": [
                    {"ContainerName": "server", "ContainerPort": 8080, "TargetGroupArn": {"Ref": "Group"}}
                ],
            },
        },
        **(others or {}),
    }
    return json.dumps({"Resources": resources})
