"""The template: scaling, alarms, the log's counts, the dashboard and the Neuron problem detector."""

import json
from typing import Any

import aws_cdk as cdk
import pytest

from llm_fleet.inference.neuron_health import NeuronHealth
from llm_fleet.inference.service_monitoring import ServiceScaling
from llm_fleet.spec.service import Scaling, ServiceSpec
from tests.clean import all_findings
from tests.inference.watched import METRICS, SPEC, Find, watch


def only(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    (properties,) = found.values()
    return properties


def text(value: Any) -> str:
    """A text with references in it, as one string."""
    if isinstance(value, str):
        return value
    delimiter, parts = value["Fn::Join"]
    return str(delimiter).join(part if isinstance(part, str) else json.dumps(part).replace('"', "'") for part in parts)


def test_the_number_of_tasks_stays_within_its_bounds(find: Find):
    target = only(find("AWS::ApplicationAutoScaling::ScalableTarget"))
    assert (target["MinCapacity"], target["MaxCapacity"]) == (2, 6)
    assert target["ResourceId"] == "service/chat/chat"
    assert target["ScalableDimension"] == "ecs:service:DesiredCount"
    assert "RoleARN" not in target


def test_the_target_waits_for_its_service(templates: dict[str, Any]):
    (target,) = [r for r in templates["Watched"].values() if r["Type"].endswith("ScalableTarget")]
    assert target["DependsOn"] == ["Service"]


def test_requests_in_a_task_are_followed(find: Find):
    policy = only(find("AWS::ApplicationAutoScaling::ScalingPolicy"))
    target = policy["TargetTrackingScalingPolicyConfiguration"]
    assert target["TargetValue"] == 5  # a batch of 4, and 1 that may wait
    assert target["ScaleInCooldown"] > target["ScaleOutCooldown"] >= 900
    assert "PredefinedMetricSpecification" not in target
    queries = {query["Id"]: query for query in target["CustomizedMetricSpecification"]["Metrics"]}
    assert [id for id, query in queries.items() if query["ReturnData"]] == ["total"]
    assert queries["total"]["Expression"] == "waiting + running"
    stat = queries["waiting"]["MetricStat"]
    assert (stat["Stat"], stat["Metric"]["MetricName"]) == ("Average", "tgi_queue_size")
    assert stat["Metric"]["Dimensions"] == [
        {"Name": "ClusterName", "Value": "chat"},
        {"Name": "ServiceName", "Value": "chat"},
    ]


def test_nothing_scales_where_the_number_is_fixed(find: Find):
    assert find("AWS::ApplicationAutoScaling::ScalableTarget", stack="Little") == {}
    assert find("AWS::ApplicationAutoScaling::ScalingPolicy", stack="Little") == {}


def test_requests_a_minute_as_the_fallback(stack: cdk.Stack):
    service = cdk.aws_ecs.CfnService(stack, "Service")
    spec = SPEC.narrowed(ServiceSpec, minimum=1, maximum=3, scaling=Scaling(requests_per_minute_target=40))
    policy = ServiceScaling(stack, "Scaling", spec=spec, metrics=METRICS, service=service).policy
    assert policy is not None
    target = stack.resolve(policy.target_tracking_scaling_policy_configuration)
    assert target["targetValue"] == 40
    assert target["predefinedMetricSpecification"] == {
        "predefinedMetricType": "ALBRequestCountPerTarget",
        "resourceLabel": "app/chat/50dc6c495c0c9188/targetgroup/chat/73e2d6bc24d8a067",
    }
    assert "customizedMetricSpecification" not in target


def test_every_alarm_calls_someone_when_someone_was_named(find: Find):
    alarms = find("AWS::CloudWatch::Alarm")
    assert len(alarms) == 11
    (topic,) = find("AWS::SNS::Topic")
    for alarm in alarms.values():
        assert alarm["AlarmActions"] == alarm["OKActions"] == [{"Ref": topic}]
        assert [query["Id"] for query in alarm["Metrics"] if query["ReturnData"]] == ["result"]
        assert alarm["TreatMissingData"] in ("breaching", "notBreaching")


def test_no_one_is_called_when_no_one_was_named(find: Find):
    alarms = find("AWS::CloudWatch::Alarm", stack="Little")
    assert len(alarms) == 10
    assert not any("AlarmActions" in alarm for alarm in alarms.values())
    assert find("AWS::SNS::Topic", stack="Little") == {}


def test_the_topic_is_encrypted_with_a_key_that_alarms_may_use(find: Find):
    assert "KmsMasterKeyId" in only(find("AWS::SNS::Topic"))
    (policy,) = [key["KeyPolicy"]["Statement"] for key in find("AWS::KMS::Key").values()]
    (statement,) = [found for found in policy if found.get("Sid") == "AlarmsOfThisAccount"]
    assert statement["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert statement["Action"] == ["kms:Decrypt", "kms:GenerateDataKey*"]
    assert "Condition" not in statement, "no document says that SNS asks the key with the account"
    publish = only(find("AWS::SNS::TopicPolicy"))["PolicyDocument"]["Statement"]
    assert [found["Action"] for found in publish if found["Effect"] == "Allow"] == ["sns:Publish"]


def test_counts_of_the_log_are_the_metrics_that_alarms_look_at(find: Find):
    counted = {
        (each["MetricNamespace"], each["MetricName"])
        for found in find("AWS::Logs::MetricFilter").values()
        for each in found["MetricTransformations"]
    }
    looked_at = {
        (query["MetricStat"]["Metric"]["Namespace"], query["MetricStat"]["Metric"]["MetricName"])
        for alarm in find("AWS::CloudWatch::Alarm").values()
        for query in alarm["Metrics"]
        if "MetricStat" in query and not query["MetricStat"]["Metric"]["Dimensions"]
    }
    assert counted == looked_at
    assert {name for _, name in counted} == {"chat/HostRefused", "chat/TaskStopped", "chat/NeuronError"}


def test_eventbridge_writes_stopped_tasks_of_this_service_and_only_its_rule_may(find: Find):
    pattern = only(find("AWS::Events::Rule"))["EventPattern"]["detail"]
    assert pattern["group"] == ["service:chat"]
    assert pattern["lastStatus"] == ["STOPPED"]
    policy = json.loads(text(only(find("AWS::Logs::ResourcePolicy"))["PolicyDocument"]))
    writing = next(each for each in policy["Statement"] if each["Action"] == "logs:PutLogEvents")
    assert "Rule" in writing["Condition"]["ArnEquals"]["aws:SourceArn"]
    assert all(each["Resource"].endswith(":*") for each in policy["Statement"])


def test_the_dashboard_is_json_with_the_alarms_in_it(find: Find):
    dashboard = only(find("AWS::CloudWatch::Dashboard"))
    assert dashboard["DashboardName"] == "chat-us-west-2"
    body = json.loads(text(dashboard["DashboardBody"]))
    (alarms,) = [widget for widget in body["widgets"] if widget["type"] == "alarm"]
    assert len(alarms["properties"]["alarms"]) == 11


def test_the_collector_is_no_reason_to_stop_and_is_reported_all(find: Find):
    _, container = find("AWS::ECS::TaskDefinition")["Task"]["ContainerDefinitions"]
    assert container["Essential"] is False
    assert container["RestartPolicy"] == {"Enabled": True, "RestartAttemptPeriod": 60}
    assert container["ReadonlyRootFilesystem"] is True
    assert ":latest" not in container["Image"]
    (variable,) = container["Environment"]
    assert variable["Name"] == "AOT_CONFIG_CONTENT"
    configuration = json.loads(text(variable["Value"]))
    assert configuration["exporters"]["awsemf"]["log_group_name"] == "{'Ref': 'Logs'}"
    # ECS's limit for a whole task definition; the server's container needs room next to it.
    assert len(variable["Value"]["Fn::Join"][1][0]) < 16 * 1024


def test_the_detector_alone_has_no_network_no_role_and_no_privilege(find: Find):
    tasks = find("AWS::ECS::TaskDefinition", stack="Little")
    (task,) = [each for name, each in tasks.items() if "NeuronHealth" in name]
    assert task["NetworkMode"] == "none"
    assert "TaskRoleArn" not in task
    (detector,) = task["ContainerDefinitions"]
    assert "Privileged" not in detector
    assert detector["LinuxParameters"] == {
        "Capabilities": {"Add": ["SYSLOG"]},
        "Devices": [{"HostPath": "/dev/kmsg", "ContainerPath": "/dev/kmsg", "Permissions": ["read"]}],
    }


def test_the_detector_is_on_every_host(find: Find):
    (service,) = [each for each in find("AWS::ECS::Service").values() if each["ServiceName"] == "chat-neuron-health"]
    assert (service["SchedulingStrategy"], service["LaunchType"]) == ("DAEMON", "EC2")
    assert "DesiredCount" not in service


def test_recovery_may_give_up_hosts_of_its_own_group_alone(find: Find):
    (task,) = [each for name, each in find("AWS::ECS::TaskDefinition").items() if "NeuronHealth" in name]
    assert task["NetworkMode"] == "host"
    assert [each["Name"] for each in task["ContainerDefinitions"]] == ["detector", "recovery"]
    (policy,) = [each["PolicyDocument"]["Statement"] for each in find("AWS::IAM::ManagedPolicy").values()]
    by_sid = {each["Sid"]: each for each in policy}
    assert text(by_sid["GiveUpBrokenHost"]["Resource"]).endswith("autoScalingGroup:*:autoScalingGroupName/hosts")
    assert by_sid["TellNeuronHealth"]["Condition"] == {"StringEquals": {"cloudwatch:namespace": "NeuronHealthCheck"}}


def test_recovery_without_a_group_is_rejected(stack: cdk.Stack):
    log = cdk.aws_ecs.CfnTaskDefinition.LogConfigurationProperty(log_driver="awslogs")
    with pytest.raises(ValueError, match="auto_scaling_group_name"):
        NeuronHealth(
            stack, "Health", cluster_name="c", service_name="s", execution_role_arn="arn", log=log, recover=True
        )


def test_no_checker_finds_anything(app: cdk.App):
    watch(app)
    assert all_findings(app) == []
