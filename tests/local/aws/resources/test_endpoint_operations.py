"""Scaling of endpoints, and budgets: their lives, and what goes with what."""

from typing import Any

import pytest

from local.aws.resource_provider import ResourceFailed
from local.aws.resources.moto_fixes.sagemaker_endpoints import let_interfaces_linger
from tests.local.aws.resources.endpoint_cases import CONFIG, ENDPOINT, MODEL, VARIANT, make_configs
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


def test_what_scales_an_endpoint_needs_its_variant_and_goes_with_it(deployer: Deployer) -> None:
    with pytest.raises(ResourceFailed, match="no endpoint with a variant"):
        deployer.create("AWS::ApplicationAutoScaling::ScalableTarget", **TARGET)
    scaled(deployer)
    assert {one["MetricName"] for one in alarms(deployer)} == {"ConcurrentRequestsPerModel"}
    assert {one["Value"] for one in alarms(deployer)[0]["Dimensions"]} == {"gpt-j", "AllTraffic"}
    deployer.client("sagemaker").delete_endpoint(EndpointName="gpt-j")
    scaling = deployer.client("application-autoscaling")
    assert scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"] == []
    assert scaling.describe_scaling_policies(ServiceNamespace="sagemaker")["ScalingPolicies"] == []
    assert alarms(deployer) == []


def test_interfaces_may_outlive_an_endpoint(deployer: Deployer, network: Network) -> None:
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


def test_what_scales_keeps_its_instance_type(deployer: Deployer) -> None:
    scaled(deployer)
    other = VARIANT | {"InstanceType": "ml.inf2.8xlarge"}
    changed: dict[str, Any] = CONFIG | {"EndpointConfigName": "larger", "ProductionVariants": [other]}
    deployer.create("AWS::SageMaker::EndpointConfig", **changed)
    client = deployer.client("sagemaker")
    with pytest.raises(client.exceptions.ClientError, match="deregister it before"):
        client.update_endpoint(EndpointName="gpt-j", EndpointConfigName="larger")


def test_a_budget_lives(deployer: Deployer) -> None:
    properties: dict[str, Any] = {
        "Budget": BUDGET,
        "NotificationsWithSubscribers": [{"Notification": NOTIFICATION, "Subscribers": READERS}],
    }
    budget = deployer.create("AWS::Budgets::Budget", **properties)
    client = deployer.client("budgets")
    named = {"AccountId": ACCOUNT, "BudgetName": budget.physical_id}
    told = client.describe_budget(**named)["Budget"]
    assert (told["BudgetLimit"], told["CostFilters"]) == ({"Amount": "200", "Unit": "USD"}, BUDGET["CostFilters"])
    assert client.describe_notifications_for_budget(**named)["Notifications"] == [NOTIFICATION]
    assert client.describe_subscribers_for_notification(**named, Notification=NOTIFICATION)["Subscribers"] == READERS
    more = properties | {"Budget": BUDGET | {"BudgetLimit": {"Amount": 99.5, "Unit": "USD"}}}
    deployer.update("AWS::Budgets::Budget", budget, properties, more)
    assert client.describe_budget(**named)["Budget"]["BudgetLimit"]["Amount"] == "99.5"
    deployer.delete("AWS::Budgets::Budget", budget, **more)
    assert client.describe_budgets(AccountId=ACCOUNT)["Budgets"] == []
