"""Operation of an endpoint in its template, and checks by cdk-nag."""

import json
from functools import cache
from typing import Any, cast

import aws_cdk as cdk
import pytest
from aws_cdk import aws_sns as sns
from aws_cdk.assertions import Template

from llm_fleet import (
    AlarmTopic,
    DataCapture,
    EndpointAlarms,
    EndpointBudget,
    EndpointRollout,
    EndpointScaling,
    FleetError,
    FleetKey,
    HuggingFaceEndpoint,
    RolloutKind,
)
from tests.clean import nag_findings
from tests.sagemaker.endpoints import Body, good, made, new_stack, properties, resources, role_statements, spec

ALL: dict[str, Any] = {
    "name": "Chat",
    "data_capture": DataCapture(percent=20),
    "scaling": EndpointScaling(maximum=3, minimum=2),
    "rollout": EndpointRollout(kind=RolloutKind.CANARY, alarm_names=["mine"]),
    "time_to_live_seconds": 4 * 3600,
    "budget": EndpointBudget(monthly_usd=200, emails=["team@example.com"]),
}


@cache
def operated() -> HuggingFaceEndpoint:
    """Return an endpoint with all operations."""
    stack = new_stack()
    return made(stack, **ALL, alarm_topic=AlarmTopic(stack, "Pager"))


def named(endpoint: HuggingFaceEndpoint, type: str, part: str) -> Body:
    """Return the only resource of `type` whose id contains `part`."""
    template = Template.from_stack(cdk.Stack.of(endpoint)).to_json()["Resources"]
    (body,) = [body for id, body in template.items() if body["Type"] == type and part in id]
    return body


def reaper_statements() -> dict[str, Body]:
    policy = named(operated(), "AWS::IAM::ManagedPolicy", "TimeToLive")["Properties"]["PolicyDocument"]
    return {one["Sid"]: one for one in policy["Statement"]}


def id_of(endpoint: HuggingFaceEndpoint, type: str) -> str:
    template = Template.from_stack(cdk.Stack.of(endpoint)).to_json()["Resources"]
    (id,) = [id for id, body in template.items() if body["Type"] == type]
    return id


def test_captured_data_is_written_to_its_own_retained_bucket() -> None:
    capture = properties(operated(), "AWS::SageMaker::EndpointConfig")["DataCaptureConfig"]
    bucket = resources(operated(), "AWS::S3::Bucket")[0]
    assert (bucket["DeletionPolicy"], bucket["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain")
    assert (capture["InitialSamplingPercentage"], capture["EnableCapture"]) == (20, True)
    assert [one["CaptureMode"] for one in capture["CaptureOptions"]] == ["Input", "Output"]
    assert "KmsKeyId" in capture
    statements = role_statements_of_chat()
    assert statements["Capture"]["Action"] == "s3:PutObject"
    assert json.dumps(statements["Capture"]["Resource"]).endswith('"/captured/Chat/*"]]}')
    assert statements["CaptureKey"]["Resource"] == capture["KmsKeyId"]


def role_statements_of_chat() -> dict[str, Body]:
    return role_statements(operated())


def test_in_another_bucket_the_role_can_write_only_below_the_prefix() -> None:
    key = "arn:aws:kms:us-west-2:111122223333:key/1"
    capture = DataCapture(uri="s3://my-bucket/kept/", inputs=False, encryption_key_arn=key)
    endpoint = made(name="chat", data_capture=capture)
    configuration = properties(endpoint, "AWS::SageMaker::EndpointConfig")["DataCaptureConfig"]
    assert (configuration["DestinationS3Uri"], configuration["KmsKeyId"]) == ("s3://my-bucket/kept/", key)
    assert configuration["CaptureOptions"] == [{"CaptureMode": "Output"}]
    assert resources(endpoint, "AWS::S3::Bucket") == []
    assert ":s3:::my-bucket/kept/chat/*" in json.dumps(role_statements(endpoint)["Capture"])
    assert role_statements(endpoint)["CaptureKey"]["Resource"] == key


def test_an_update_shifts_traffic_in_steps_and_is_rolled_back_by_alarms() -> None:
    endpoint = named(operated(), "AWS::SageMaker::Endpoint", "")
    deployment = endpoint["Properties"]["DeploymentConfig"]
    names = [one["AlarmName"] for one in deployment["AutoRollbackConfiguration"]["Alarms"]]
    assert names == ["Chat-ServerErrors", "Chat-Latency", "mine"]
    assert deployment["BlueGreenUpdatePolicy"] == {
        "TerminationWaitInSeconds": 120,
        "TrafficRoutingConfiguration": {
            "Type": "CANARY",
            "CanarySize": {"Type": "CAPACITY_PERCENT", "Value": 10},
            "WaitIntervalInSeconds": 600,
        },
    }
    alarms = Template.from_stack(cdk.Stack.of(operated())).find_resources("AWS::CloudWatch::Alarm")
    before = {alarms[id]["Properties"]["AlarmName"] for id in endpoint["DependsOn"] if id in alarms}
    assert before == {"Chat-ServerErrors", "Chat-Latency"}
    # "mine" can be a composite alarm: to describe one, a role must have permission for all alarms.
    assert role_statements_of_chat()["RollbackAlarms"]["Action"] == "cloudwatch:DescribeAlarms"
    assert role_statements_of_chat()["RollbackAlarms"]["Resource"] == "*"
    of_its_own = role_statements(good())["RollbackAlarms"]["Resource"]
    names = {
        f"{properties(good(), 'AWS::SageMaker::Endpoint')['EndpointName']}-{id}" for id in ("ServerErrors", "Latency")
    }
    assert {arn.rsplit(":", 1)[-1] for arn in of_its_own} == names


@pytest.mark.parametrize(
    ("rollout", "policy"),
    [
        (
            EndpointRollout(kind=RolloutKind.LINEAR, percent=50, bake_seconds=300, timeout_seconds=3600),
            {
                "BlueGreenUpdatePolicy": {
                    "TerminationWaitInSeconds": 120,
                    "MaximumExecutionTimeoutInSeconds": 3600,
                    "TrafficRoutingConfiguration": {
                        "Type": "LINEAR",
                        "LinearStepSize": {"Type": "CAPACITY_PERCENT", "Value": 50},
                        "WaitIntervalInSeconds": 300,
                    },
                }
            },
        ),
        (
            EndpointRollout(kind=RolloutKind.ROLLING),
            {
                "RollingUpdatePolicy": {
                    "MaximumBatchSize": {"Type": "CAPACITY_PERCENT", "Value": 25},
                    "WaitIntervalInSeconds": 600,
                }
            },
        ),
    ],
)
def test_other_rollouts(rollout: EndpointRollout, policy: Body) -> None:
    endpoint = made(rollout=rollout, instance_count=4)
    deployment = properties(endpoint, "AWS::SageMaker::Endpoint")["DeploymentConfig"]
    assert {name: value for name, value in deployment.items() if name != "AutoRollbackConfiguration"} == policy


def test_the_number_of_instances_follows_the_load_and_updates_keep_it() -> None:
    target = properties(operated(), "AWS::ApplicationAutoScaling::ScalableTarget")
    assert (target["MinCapacity"], target["MaxCapacity"]) == (2, 3)
    assert target["ResourceId"] == "endpoint/Chat/variant/AllTraffic"
    policy = properties(operated(), "AWS::ApplicationAutoScaling::ScalingPolicy")
    assert policy["TargetTrackingScalingPolicyConfiguration"] == {
        "PredefinedMetricSpecification": {
            "PredefinedMetricType": "SageMakerVariantConcurrentRequestsPerModelHighResolution"
        },
        "ScaleInCooldown": 600,
        "ScaleOutCooldown": 300,
        "TargetValue": 5,
    }
    (variant,) = properties(operated(), "AWS::SageMaker::EndpointConfig")["ProductionVariants"]
    assert variant["InitialInstanceCount"] == 2
    endpoint = properties(operated(), "AWS::SageMaker::Endpoint")
    assert endpoint["RetainAllVariantProperties"] is True
    assert endpoint["ExcludeRetainedVariantProperties"] == [{"VariantPropertyType": "DataCaptureConfig"}]
    by_minute = made(scaling=EndpointScaling(maximum=2, invocations_per_minute=60, scale_in_seconds=0))
    scaling_policy = properties(by_minute, "AWS::ApplicationAutoScaling::ScalingPolicy")
    configuration = scaling_policy["TargetTrackingScalingPolicyConfiguration"]
    assert (configuration["TargetValue"], configuration["ScaleInCooldown"]) == (60, 0)
    assert configuration["PredefinedMetricSpecification"]["PredefinedMetricType"].endswith("InvocationsPerInstance")


def test_the_function_can_delete_only_this_endpoint() -> None:
    statements = reaper_statements()
    endpoint, config, model = (
        {"Ref": id_of(operated(), f"AWS::SageMaker::{kind}")} for kind in ("Endpoint", "EndpointConfig", "Model")
    )
    assert statements["EndEndpoint"]["Resource"] == endpoint  # the ARN, as written by SageMaker
    assert statements["EndConfig"]["Resource"] == config
    assert statements["EndModel"]["Resource"] == model
    assert statements["Mark"]["Resource"] == [config, model]
    assert statements["StopScaling"]["Condition"]["StringEquals"]["aws:ResourceTag/llm-fleet:endpoint"] == "Chat"
    assert statements["RunNoMore"]["Resource"].endswith(":rule/Chat-ttl")
    assert {sid for sid in statements if "*" in json.dumps(statements[sid]["Resource"])} == {
        "StopScaling",
        "PolicyAlarms",
    }
    actions = {action for one in statements.values() for action in [one["Action"]] if isinstance(action, str)}
    assert not any(action.endswith("*") for action in actions)


def test_the_rule_and_the_function_are_created_after_the_endpoint() -> None:
    rule = named(operated(), "AWS::Events::Rule", "TimeToLive")
    function = named(operated(), "AWS::Lambda::Function", "TimeToLive")
    endpoint = id_of(operated(), "AWS::SageMaker::Endpoint")
    assert endpoint in rule["DependsOn"]
    assert endpoint in function["DependsOn"]
    assert rule["Properties"]["ScheduleExpression"] == "rate(15 minutes)"
    variables = function["Properties"]["Environment"]["Variables"]
    assert (variables["TTL_SECONDS"], variables["RULE_NAME"]) == ("14400", rule["Properties"]["Name"])
    assert variables["SCALED"] == "endpoint/Chat/variant/AllTraffic"
    permission = named(operated(), "AWS::Lambda::Permission", "TimeToLive")["Properties"]
    assert permission["Principal"] == "events.amazonaws.com"
    assert "SourceArn" in permission


def test_a_long_name_gives_a_valid_rule_name() -> None:
    endpoint = made(name="e" * 63, time_to_live_seconds=86400)
    name = properties(endpoint, "AWS::Events::Rule")["Name"]
    assert len(name) <= 64
    assert name.endswith("-ttl")


def test_a_budget_notifies_topic_and_emails() -> None:
    budget = properties(operated(), "AWS::Budgets::Budget")
    assert budget["Budget"]["BudgetLimit"] == {"Amount": 200, "Unit": "USD"}
    assert budget["Budget"]["CostFilters"] == {"Service": ["Amazon SageMaker"]}
    assert "BudgetName" not in budget["Budget"]  # so that a changed notification can replace it
    notifications = [
        (one["Notification"]["NotificationType"], one["Notification"]["Threshold"], len(one["Subscribers"]))
        for one in budget["NotificationsWithSubscribers"]
    ]
    assert notifications == [("ACTUAL", 80, 2), ("ACTUAL", 100, 2), ("FORECASTED", 100, 2)]
    policy = json.dumps(properties(operated(), "AWS::SNS::TopicPolicy"))
    assert "budgets.amazonaws.com" in policy
    alone = made(name="chat", budget=EndpointBudget(monthly_usd=9, emails=["a@example.com"], tagged_only=True))
    filters = properties(alone, "AWS::Budgets::Budget")["Budget"]["CostFilters"]
    assert filters["TagKeyValue"] == ["user:llm-fleet:endpoint$chat"]
    for kind in ("Endpoint", "EndpointConfig", "Model"):
        tags = properties(alone, f"AWS::SageMaker::{kind}")["Tags"]
        assert {"Key": "llm-fleet:endpoint", "Value": "chat"} in tags


def test_two_endpoints_can_share_a_topic() -> None:
    stack = new_stack()
    topic = AlarmTopic(stack, "Pager")
    budget = EndpointBudget(monthly_usd=200)
    first = made(stack, name="a", budget=budget, alarm_topic=topic)
    HuggingFaceEndpoint(
        stack,
        "B",
        spec(budget=budget),
        alarm_topic=cast(sns.ITopic, topic),
    )
    statements = properties(first, "AWS::SNS::TopicPolicy")["PolicyDocument"]["Statement"]
    assert len({one["Sid"] for one in statements}) == len(statements)


def test_alarms_have_the_given_thresholds() -> None:
    endpoint = made(
        name="chat",
        alarms=EndpointAlarms(server_error_percent=10, model_latency_ms=2500, idle_hours=24),
    )
    alarms = {
        one["Properties"]["AlarmName"]: one["Properties"] for one in resources(endpoint, "AWS::CloudWatch::Alarm")
    }
    assert {name: one["Threshold"] for name, one in alarms.items()} == {
        "chat-ServerErrors": 0.1,
        "chat-Latency": 2_500_000,
        "chat-Idle": 1,
    }
    idle = alarms["chat-Idle"]
    assert (idle["EvaluationPeriods"], idle["TreatMissingData"]) == (24, "notBreaching")
    assert {query.get("Expression") for query in idle["Metrics"]} >= {"FILL(requests, 0) + 0 * running"}
    assert all("AlarmActions" not in one for one in alarms.values())


def test_the_dashboard_shows_every_alarm_and_the_last_errors() -> None:
    body = json.dumps(properties(operated(), "AWS::CloudWatch::Dashboard")["DashboardBody"])
    assert "alarm:Chat-TimeToLive" in body
    assert "GPUMemoryUtilization" in body
    assert "SOURCE '" in body
    assert body.count("ModelLatency") == 2


def test_without_operations_there_are_only_alarms_and_a_rollback() -> None:
    for kind in ("Events::Rule", "Lambda::Function", "Budgets::Budget", "ApplicationAutoScaling::ScalableTarget"):
        assert resources(good(), f"AWS::{kind}") == []
    deployment = properties(good(), "AWS::SageMaker::Endpoint")["DeploymentConfig"]
    assert deployment["BlueGreenUpdatePolicy"]["TrafficRoutingConfiguration"]["Type"] == "ALL_AT_ONCE"


def test_a_topic_of_another_class_is_reported_by_name() -> None:
    with pytest.raises(FleetError) as rejected:
        made(alarm_topic="arn:aws:sns:x")
    assert [problem.where for problem in rejected.value.problems] == ["alarm_topic"]


def test_a_topic_by_its_arn_is_the_same_as_one_of_the_app() -> None:
    arn = "arn:aws:sns:us-west-2:111122223333:pager"
    endpoint = made(alarms=EndpointAlarms(topic_arn=arn))
    actions = [one["Properties"]["AlarmActions"] for one in resources(endpoint, "AWS::CloudWatch::Alarm")]
    assert actions == [[arn]] * 3
    stack = new_stack()
    with pytest.raises(FleetError) as rejected:
        made(stack, alarms=EndpointAlarms(topic_arn=arn), alarm_topic=AlarmTopic(stack, "Pager"))
    assert [problem.where for problem in rejected.value.problems] == ["alarms.topic_arn"]


def test_a_time_to_live_that_is_a_token_is_passed_to_the_function() -> None:
    stack = new_stack()
    seconds = cdk.CfnParameter(stack, "Seconds", type="Number").value_as_number
    endpoint = made(stack, time_to_live_seconds=seconds)
    function = named(endpoint, "AWS::Lambda::Function", "TimeToLive")["Properties"]
    assert function["Environment"]["Variables"]["TTL_SECONDS"] == {"Ref": "Seconds"}


def test_settings_that_do_not_fit_together_are_reported_by_the_construct() -> None:
    with pytest.raises(FleetError) as rejected:
        made(rollout=EndpointRollout(kind=RolloutKind.CANARY), budget=EndpointBudget(monthly_usd=200))
    assert [problem.where for problem in rejected.value.problems] == ["rollout.kind", "budget.emails"]


def test_nag_finds_nothing_in_settings_that_no_example_has() -> None:
    """The other checkers read only types and properties, all of which the examples have."""
    stack = new_stack()
    pager = sns.Topic.from_topic_arn(stack, "Pager", "arn:aws:sns:us-west-2:111122223333:pager")
    made(stack, **ALL, alarm_topic=pager, encryption_key=FleetKey(stack, "Key"))
    HuggingFaceEndpoint(stack, "Silent", spec(time_to_live_seconds=3600))
    assert nag_findings(cast(cdk.App, stack.node.root)) == []
