"""Scaling of endpoints, and budgets: life cycles and dependencies; endpoints that SageMaker rejects."""

from typing import Any

import pytest

from llm_fleet_local.aws.resource_provider import ResourceFailed
from llm_fleet_local.aws.resources.moto_fixes.sagemaker_endpoints import let_interfaces_linger
from tests.local.aws.resources.endpoint_cases import (
    CONFIG,
    ENDPOINT,
    MODEL,
    VARIANT,
    make_archive,
    make_configs,
    make_model,
)
from tests.local.aws.resources.support import ACCOUNT, Deployer, Network

TARGET: dict[str, Any] = {
    "ServiceNamespace": "sagemaker",
    "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
    "ResourceId": "endpoint/gpt-j/variant/AllTraffic",
    "MinCapacity": 1,
    "MaxCapacity": 3,
}
METRIC = {"PredefinedMetricType": "SageMakerVariantConcurrentRequestsPerModelHighResolution"}
POLICY: dict[str, Any] = {
    "PolicyName": "load",
    "PolicyType": "TargetTrackingScaling",
    "TargetTrackingScalingPolicyConfiguration": {"TargetValue": 5, "PredefinedMetricSpecification": METRIC},
}
BUDGET: dict[str, Any] = {
    "BudgetType": "COST",
    "TimeUnit": "MONTHLY",
    "BudgetLimit": {"Amount": 200, "Unit": "USD"},
    "CostFilters": {"Service": ["Amazon SageMaker"]},
}
NOTIFICATION = {"NotificationType": "ACTUAL", "ComparisonOperator": "GREATER_THAN", "Threshold": 80}
READERS = [{"SubscriptionType": "EMAIL", "Address": "team@example.com"}]


def alarms(deployer: Deployer) -> list[dict[str, Any]]:
    return deployer.client("cloudwatch").describe_alarms()["MetricAlarms"]


def scaled(deployer: Deployer) -> None:
    make_configs(deployer)
    deployer.create("AWS::SageMaker::Endpoint", **ENDPOINT)
    target = deployer.create("AWS::ApplicationAutoScaling::ScalableTarget", **TARGET)
    deployer.create("AWS::ApplicationAutoScaling::ScalingPolicy", **POLICY, ScalingTargetId=target.physical_id)


def test_a_scalable_target_requires_its_variant_and_is_deleted_with_it(deployer: Deployer) -> None:
    with pytest.raises(ResourceFailed, match="endpoint variant does not exist"):
        deployer.create("AWS::ApplicationAutoScaling::ScalableTarget", **TARGET)
    scaled(deployer)
    assert {one["MetricName"] for one in alarms(deployer)} == {"ConcurrentRequestsPerModel"}
    assert {one["Value"] for one in alarms(deployer)[0]["Dimensions"]} == {"gpt-j", "AllTraffic"}
    deployer.client("sagemaker").delete_endpoint(EndpointName="gpt-j")
    scaling = deployer.client("application-autoscaling")
    assert scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"] == []
    assert scaling.describe_scaling_policies(ServiceNamespace="sagemaker")["ScalingPolicies"] == []
    assert alarms(deployer) == []


def test_interfaces_can_remain_after_an_endpoint_is_deleted(deployer: Deployer, network: Network) -> None:
    make_configs(deployer)
    vpc = {"Subnets": [network.subnet], "SecurityGroupIds": [network.group]}
    model: dict[str, Any] = MODEL | {"ModelName": "inside", "VpcConfig": vpc}
    deployer.create("AWS::SageMaker::Model", **model)
    inside: dict[str, Any] = CONFIG | {
        "EndpointConfigName": "inside",
        "ProductionVariants": [VARIANT | {"ModelName": "inside"}],
    }
    deployer.create("AWS::SageMaker::EndpointConfig", **inside)
    named: dict[str, Any] = ENDPOINT | {"EndpointConfigName": "inside"}
    endpoint = deployer.create("AWS::SageMaker::Endpoint", **named)
    for lingers in (True, False):
        let_interfaces_linger(lingers)
        deployer.delete("AWS::SageMaker::Endpoint", endpoint, **named)
        if lingers:
            with pytest.raises(ResourceFailed, match=r"DependencyViolation.*SageMaker endpoint gpt-j"):
                deployer.delete("AWS::EC2::SecurityGroup", network.group_created)
    deployer.client("ec2").delete_security_group(GroupId=network.group)


def test_a_scaled_variant_keeps_its_instance_type(deployer: Deployer) -> None:
    scaled(deployer)
    other = VARIANT | {"InstanceType": "ml.inf2.8xlarge"}
    changed: dict[str, Any] = CONFIG | {"EndpointConfigName": "larger", "ProductionVariants": [other]}
    deployer.create("AWS::SageMaker::EndpointConfig", **changed)
    client = deployer.client("sagemaker")
    with pytest.raises(client.exceptions.ClientError, match="deregister it before"):
        client.update_endpoint(EndpointName="gpt-j", EndpointConfigName="larger")


def test_the_life_of_a_budget(deployer: Deployer) -> None:
    properties: dict[str, Any] = {
        "Budget": BUDGET,
        "NotificationsWithSubscribers": [{"Notification": NOTIFICATION, "Subscribers": READERS}],
    }
    budget = deployer.create("AWS::Budgets::Budget", **properties)
    client = deployer.client("budgets")
    named = {"AccountId": ACCOUNT, "BudgetName": budget.physical_id}
    reported = client.describe_budget(**named)["Budget"]
    assert (reported["BudgetLimit"], reported["CostFilters"]) == (
        {"Amount": "200", "Unit": "USD"},
        BUDGET["CostFilters"],
    )
    assert client.describe_notifications_for_budget(**named)["Notifications"] == [NOTIFICATION]
    assert client.describe_subscribers_for_notification(**named, Notification=NOTIFICATION)["Subscribers"] == READERS
    more = properties | {"Budget": BUDGET | {"BudgetLimit": {"Amount": 99.5, "Unit": "USD"}}}
    deployer.update("AWS::Budgets::Budget", budget, properties, more)
    assert client.describe_budget(**named)["Budget"]["BudgetLimit"]["Amount"] == "99.5"
    deployer.delete("AWS::Budgets::Budget", budget, **more)
    assert client.describe_budgets(AccountId=ACCOUNT)["Budgets"] == []


CONTAINER: dict[str, Any] = MODEL["PrimaryContainer"]


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        ({"ExecutionRoleArn": "arn:aws:iam::123456789012:role/missing"}, "does not exist"),
        ({"PrimaryContainer": CONTAINER | {"Image": "docker.io/vllm/vllm-openai:v0.27.1"}}, "non-ECR image"),
        (
            {"PrimaryContainer": CONTAINER | {"Image": str(CONTAINER["Image"]).replace("us-west-2", "eu-west-1")}},
            "Cross region ECR image pulls are not allowed",
        ),
        (
            {"PrimaryContainer": CONTAINER | {"ModelDataUrl": "s3://my-models/other.tar.gz"}},
            "Could not find model data",
        ),
        ({"VpcConfig": {"Subnets": ["subnet-1"], "SecurityGroupIds": ["sg-1"]}}, "The subnet ID 'subnet-1'"),
        (
            {
                "PrimaryContainer": {
                    "Image": CONTAINER["Image"],
                    "ModelDataSource": {
                        "S3DataSource": {
                            "S3Uri": "s3://my-models/gpt-j",
                            "S3DataType": "S3Prefix",
                            "CompressionType": "None",
                        }
                    },
                }
            },
            "must end with a forward slash",
        ),
    ],
)
def test_a_model_that_cannot_be_downloaded_is_rejected(
    deployer: Deployer, change: dict[str, Any], reported: str
) -> None:
    make_archive(deployer)
    with pytest.raises(ResourceFailed, match=reported):
        deployer.create("AWS::SageMaker::Model", **MODEL | change)


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        ({"ModelName": "nothing"}, 'Could not find model "arn:aws:sagemaker:us-west-2:123456789012:model/nothing"'),
        ({"InstanceType": "ml.g4dn.xlarge", "InferenceAmiVersion": None}, "VolumeSizeInGB is not supported"),
        ({"InferenceAmiVersion": "al2-ami-sagemaker-inference-gpu-3-1"}, "does not support ml.inf2.xlarge"),
    ],
)
def test_a_configuration_that_cannot_run_is_rejected(deployer: Deployer, change: dict[str, Any], reported: str) -> None:
    make_model(deployer)
    variant = {name: value for name, value in (VARIANT | change).items() if value is not None}
    requested: dict[str, Any] = CONFIG | {"ProductionVariants": [variant]}
    with pytest.raises(ResourceFailed, match=reported):
        deployer.create("AWS::SageMaker::EndpointConfig", **requested)


def test_models_and_configurations_in_use_cannot_be_deleted(deployer: Deployer) -> None:
    make_configs(deployer)
    made = deployer.create("AWS::SageMaker::Endpoint", **ENDPOINT)
    client = deployer.client("sagemaker")
    with pytest.raises(client.exceptions.ClientError, match="is in use by gpt-j"):
        client.delete_endpoint_config(EndpointConfigName="gpt-j-1")
    with pytest.raises(client.exceptions.ClientError, match="already existing endpoint"):
        client.create_endpoint(EndpointName="gpt-j", EndpointConfigName="gpt-j-2")
    deployer.delete("AWS::SageMaker::Endpoint", made, **ENDPOINT)
    client.delete_endpoint_config(EndpointConfigName="gpt-j-1")
    assert [one["EndpointConfigName"] for one in client.list_endpoint_configs()["EndpointConfigs"]] == ["gpt-j-2"]


def test_an_update_keeps_the_instances_that_scaling_set(deployer: Deployer) -> None:
    make_configs(deployer)
    deployer.create("AWS::SageMaker::Endpoint", **ENDPOINT)
    client = deployer.client("sagemaker")
    client.update_endpoint_weights_and_capacities(
        EndpointName="gpt-j", DesiredWeightsAndCapacities=[{"VariantName": "AllTraffic", "DesiredInstanceCount": 5}]
    )
    client.update_endpoint(EndpointName="gpt-j", EndpointConfigName="gpt-j-2", RetainAllVariantProperties=True)
    assert _count(client) == 5
    client.update_endpoint(EndpointName="gpt-j", EndpointConfigName="gpt-j-2")
    assert _count(client) == 2


def _count(client: Any) -> int:
    (variant,) = client.describe_endpoint(EndpointName="gpt-j")["ProductionVariants"]
    return variant["CurrentInstanceCount"]
