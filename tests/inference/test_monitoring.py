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


def test_the_number_of_tasks_has_a_minimum_and_a_maximum(find: Find):
    target = only(find("AWS::ApplicationAutoScaling::ScalableTarget"))
    assert (target["MinCapacity"], target["MaxCapacity"]) == (2, 6)
    assert target["ResourceId"] == "service/chat/chat"
    assert target["ScalableDimension"] == "ecs:service:DesiredCount"
    assert "RoleARN" not in target


def test_the_scalable_target_is_created_after_its_service(templates: dict[str, Any]):
    (target,) = [r for r in templates["Watched"].values() if r["Type"].endswith("ScalableTarget")]
    assert target["DependsOn"] == ["Service"]


def test_scaling_follows_the_requests_per_task(find: Find):
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


def test_a_fixed_number_of_tasks_is_not_scaled(find: Find):
    assert find("AWS::ApplicationAutoScaling::ScalableTarget", stack="Little") == {}
    assert find("AWS::ApplicationAutoScaling::ScalingPolicy", stack="Little") == {}


def test_scaling_can_follow_requests_per_minute(stack: cdk.Stack):
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


def test_with_a_recipient_every_alarm_notifies_the_topic(find: Find):
    alarms = find("AWS::CloudWatch::Alarm")
    assert len(alarms) == 11
    (topic,) = find("AWS::SNS::Topic")
    for alarm in alarms.values():
        assert alarm["AlarmActions"] == alarm["OKActions"] == [{"Ref": topic}]
        assert [query["Id"] for query in alarm["Metrics"] if query["ReturnData"]] == ["result"]
        assert alarm["TreatMissingData"] in ("breaching", "notBreaching")


def test_without_a_recipient_alarms_notify_no_topic(find: Find):
    alarms = find("AWS::CloudWatch::Alarm", stack="Little")
    assert len(alarms) == 10
    assert not any("AlarmActions" in alarm for alarm in alarms.values())
    assert find("AWS::SNS::Topic", stack="Little") == {}


def test_the_topic_is_encrypted_with_a_key_that_alarms_can_use(find: Find):
    assert "KmsMasterKeyId" in only(find("AWS::SNS::Topic"))
    (policy,) = [key["KeyPolicy"]["Statement"] for key in find("AWS::KMS::Key").values()]
    (statement,) = [found for found in policy if found.get("Sid") == "AlarmsOfThisAccount"]
    assert statement["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert statement["Action"] == ["kms:Decrypt", "kms:GenerateDataKey*"]
    assert "Condition" not in statement, "no document says that SNS asks the key with the account"
    publish = only(find("AWS::SNS::TopicPolicy"))["PolicyDocument"]["Statement"]
    assert [found["Action"] for found in publish if found["Effect"] == "Allow"] == ["sns:Publish"]


def test_metric_filters_of_the_log_are_the_metrics_of_alarms(find: Find):
    counted = {
        (each["MetricNamespace"], each["MetricName"])
        for found in find("AWS::Logs::MetricFilter").values()
        for each in found["MetricTransformations"]
    }
    used = {
        (query["MetricStat"]["Metric"]["Namespace"], query["MetricStat"]["Metric"]["MetricName"])
        for alarm in find("AWS::CloudWatch::Alarm").values()
        for query in alarm["Metrics"]
        if "MetricStat" in query and not query["MetricStat"]["Metric"]["Dimensions"]
    }
    assert counted == used
    assert {name for _, name in counted} == {"chat/HostRefused", "chat/TaskStopped", "chat/NeuronError"}


def test_eventbridge_logs_stopped_tasks_of_this_service_and_only_its_rule_can_write(find: Find):
    pattern = only(find("AWS::Events::Rule"))["EventPattern"]["detail"]
    assert pattern["group"] == ["service:chat"]
    assert pattern["lastStatus"] == ["STOPPED"]
    policy = json.loads(text(only(find("AWS::Logs::ResourcePolicy"))["PolicyDocument"]))
    writing = next(each for each in policy["Statement"] if each["Action"] == "logs:PutLogEvents")
    assert "Rule" in writing["Condition"]["ArnEquals"]["aws:SourceArn"]
    assert all(each["Resource"].endswith(":*") for each in policy["Statement"])


def test_the_dashboard_is_json_with_the_alarms(find: Find):
    dashboard = only(find("AWS::CloudWatch::Dashboard"))
    assert dashboard["DashboardName"] == "chat-us-west-2"
    body = json.loads(text(dashboard["DashboardBody"]))
    (alarms,) = [widget for widget in body["widgets"] if widget["type"] == "alarm"]
    assert len(alarms["properties"]["alarms"]) == 11


def test_the_collector_is_not_essential_and_gets_its_whole_configuration(find: Find):
    _, container = find("AWS::ECS::TaskDefinition")["Task"]["ContainerDefinitions"]
    assert container["Essential"] is False
    assert container["RestartPolicy"] == {"Enabled": True, "RestartAttemptPeriod": 60}
    assert container["ReadonlyRootFilesystem"] is True
    assert ":latest" not in container["Image"]
    (variable,) = container["Environment"]
    assert variable["Name"] == "AOT_CONFIG_CONTENT"
    configuration = json.loads(text(variable["Value"]))
    assert configuration["exporters"]["awsemf"]["log_group_name"] == "{'Ref': 'Logs'}"
    # The limit of ECS is for the whole task definition, which also contains the server's container.
    assert len(variable["Value"]["Fn::Join"][1][0]) < 16 * 1024


def test_the_detector_without_recovery_has_no_network_no_role_and_no_privileges(find: Find):
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


def test_recovery_can_only_replace_hosts_of_its_own_group(find: Find):
    (task,) = [each for name, each in find("AWS::ECS::TaskDefinition").items() if "NeuronHealth" in name]
    assert task["NetworkMode"] == "host"
    assert [each["Name"] for each in task["ContainerDefinitions"]] == ["detector", "recovery"]
    (policy,) = [each["PolicyDocument"]["Statement"] for each in find("AWS::IAM::ManagedPolicy").values()]
    by_sid = {each["Sid"]: each for each in policy}
    assert text(by_sid["GiveUpBrokenHost"]["Resource"]).endswith("autoScalingGroup:*:autoScalingGroupName/hosts")
    assert by_sid["TellNeuronHealth"]["Condition"] == {"StringEquals": {"cloudwatch:namespace": "NeuronHealthCheck"}}


def test_recovery_requires_a_group(stack: cdk.Stack):
    log = cdk.aws_ecs.CfnTaskDefinition.LogConfigurationProperty(log_driver="awslogs")
    with pytest.raises(ValueError, match="auto_scaling_group_name"):
        NeuronHealth(
            stack, "Health", cluster_name="c", service_name="s", execution_role_arn="arn", log=log, recover=True
        )


def test_no_checker_finds_anything(app: cdk.App):
    watch(app)
    assert all_findings(app) == []
