"""Parts of a service: each is returned as requested, updated in place as on AWS, and deleted in order."""

import base64
from typing import Any

import pytest

from llm_fleet_local.aws.resource_provider import ReplacementNeeded, ResourceFailed
from tests.local.aws.resources.cases import Case
from tests.local.aws.resources.serving import MANAGED_SERVER, USER_DATA, Serving
from tests.local.aws.resources.serving_cases import SEEN, SERVING_CASES
from tests.local.aws.resources.support import Deployer, trust
from tests.local.aws.resources.test_lives import test_life as live

REFUSED = {"FixedResponseConfig": {"StatusCode": "401", "ContentType": "application/json"}}


@pytest.mark.parametrize("case", SERVING_CASES, ids=lambda case: case.type)
def test_life(deployer: Deployer, case: Case) -> None:
    live(deployer, case)


def test_hosts(deployer: Deployer) -> None:
    serving, ec2, scaling = Serving(deployer), deployer.client("ec2"), deployer.client("autoscaling")
    serving.hosts_properties |= {"DesiredCapacity": "2"}
    assert serving.hosts.notes == ("no instance boots here, so its user data does not run",)
    (group,) = scaling.describe_auto_scaling_groups()["AutoScalingGroups"]
    assert (group["DesiredCapacity"], group["DefaultInstanceWarmup"]) == (2, 60)
    assert {one["AvailabilityZone"] for one in group["Instances"]} == {"us-west-2a", "us-west-2b"}
    assert len(group["EnabledMetrics"]) == 8
    reported = {tag["Key"]: (tag["Value"], tag["PropagateAtLaunch"]) for tag in group["Tags"]}
    assert reported == {"fleet": ("test", True), "Name": ("host", True)}
    hooks = scaling.describe_lifecycle_hooks(AutoScalingGroupName=serving.hosts.physical_id)["LifecycleHooks"]
    assert [one["LifecycleHookName"] for one in hooks] == ["boot"]

    before = serving.template_properties
    longer = base64.b64encode(f"{USER_DATA}# more\n".encode()).decode()
    after = {**before, "LaunchTemplateData": {**before["LaunchTemplateData"], "UserData": longer}}
    changed = deployer.update("AWS::EC2::LaunchTemplate", serving.template, before, after)
    assert changed.attributes["LatestVersionNumber"] == "2"
    versions = ec2.describe_launch_template_versions(LaunchTemplateId=changed.physical_id)["LaunchTemplateVersions"]
    texts = {one["VersionNumber"]: base64.b64decode(one["LaunchTemplateData"]["UserData"]) for one in versions}
    assert texts == {1: USER_DATA.encode(), 2: f"{USER_DATA}# more\n".encode()}
    (template,) = ec2.describe_launch_templates(LaunchTemplateIds=[changed.physical_id])["LaunchTemplates"]
    assert template["Tags"] == [{"Key": "kind", "Value": "host"}]

    now: dict[str, Any] = serving.hosts_properties | {
        "LaunchTemplate": {"LaunchTemplateId": changed.physical_id, "Version": "2"},
        "DesiredCapacity": "3",
        "Tags": [],
    }
    deployer.update("AWS::AutoScaling::AutoScalingGroup", serving.hosts, serving.hosts_properties, now)
    (group,) = scaling.describe_auto_scaling_groups()["AutoScalingGroups"]
    assert (group["LaunchTemplate"]["Version"], len(group["Instances"])) == ("2", 3)
    assert [tag["Key"] for tag in group["Tags"]] == ["fleet"]

    deployer.delete("AWS::AutoScaling::AutoScalingGroup", serving.hosts, **now)
    deployer.delete("AWS::EC2::LaunchTemplate", serving.template, **after)
    for one in serving.subnets_created:
        deployer.delete("AWS::EC2::Subnet", one)  # they have no host any more


def test_a_services_life(deployer: Deployer) -> None:
    serving = Serving(deployer)
    assert "a task that has a host counts as running" in serving.service.notes[0]
    reported = serving.reported_of_service()
    assert (reported["desiredCount"], reported["runningCount"], reported["availabilityZoneRebalancing"]) == (
        2,
        2,
        "DISABLED",
    )
    assert reported["deploymentConfiguration"]["deploymentCircuitBreaker"] == {"enable": True, "rollback": True}
    assert reported["capacityProviderStrategy"] == [{"capacityProvider": "chat-hosts", "weight": 1}]
    assert "launchType" not in reported
    assert reported["healthCheckGracePeriodSeconds"] == 1800
    assert reported["deployments"][0]["rolloutState"] == "COMPLETED"

    definition = deployer.client("ecs").describe_task_definition(taskDefinition="chat")["taskDefinition"]
    (container,) = definition["containerDefinitions"]
    assert container["linuxParameters"]["devices"] == [{"hostPath": "/dev/neuron0", "containerPath": "/dev/neuron0"}]
    assert (container["stopTimeout"], definition["compatibilities"]) == (120, ["EC2"])
    other = serving.task_properties | {"Memory": "13000"}
    with pytest.raises(ReplacementNeeded):
        deployer.update("AWS::ECS::TaskDefinition", serving.task, serving.task_properties, other)

    second = serving.create("ECS::TaskDefinition", **serving.task_properties)
    assert second.physical_id.endswith(":2")
    before = serving.service_properties
    after = before | {"TaskDefinition": second.physical_id, "DesiredCount": 1}
    updated = deployer.update("AWS::ECS::Service", serving.service, before, after)
    assert updated.physical_id == serving.service.physical_id
    reported = serving.reported_of_service()
    assert (reported["taskDefinition"], reported["runningCount"]) == (second.physical_id, 1)
    assert reported["healthCheckGracePeriodSeconds"] == 1800

    with pytest.raises(ResourceFailed, match="ECS task of chat"):
        deployer.delete("AWS::EC2::Subnet", serving.subnets_created[0])
    deployer.delete("AWS::ECS::Service", serving.service, **after)
    deployer.delete("AWS::ECS::TaskDefinition", serving.task, **serving.task_properties)
    assert not deployer.provider.exists("AWS::ECS::TaskDefinition", serving.task.physical_id)


def test_the_front(deployer: Deployer) -> None:
    serving, client = Serving(deployer), deployer.client("elbv2")
    assert serving.balancer.attributes["LoadBalancerFullName"].startswith("app/")
    assert serving.targets.attributes["TargetGroupFullName"].startswith("targetgroup/")
    attributes = client.describe_load_balancer_attributes(LoadBalancerArn=serving.balancer.physical_id)["Attributes"]
    reported = {one["Key"]: one["Value"] for one in attributes}
    assert (reported["idle_timeout.timeout_seconds"], reported["routing.http.desync_mitigation_mode"]) == (
        "900",
        "defensive",
    )
    (group,) = client.describe_target_groups()["TargetGroups"]
    assert (group["TargetControlPort"], group["HealthCheckPath"], group["LoadBalancerArns"]) == (3000, "/health", [])
    assert serving.rule.attributes["IsDefault"] is False
    (group,) = client.describe_target_groups()["TargetGroups"]
    assert group["LoadBalancerArns"] == [serving.balancer.physical_id]

    after = serving.rule_properties | {"Priority": 20, "Actions": [{"Type": "fixed-response", **REFUSED}]}
    deployer.update("AWS::ElasticLoadBalancingV2::ListenerRule", serving.rule, serving.rule_properties, after)
    first, last = client.describe_rules(ListenerArn=serving.listener.physical_id)["Rules"]
    assert (first["Priority"], first["Actions"][0]["FixedResponseConfig"]["StatusCode"]) == ("20", "401")
    assert last["Priority"] == "default"
    (group,) = client.describe_target_groups()["TargetGroups"]
    assert group["LoadBalancerArns"] == []
    other = serving.targets_properties | {"TargetControlPort": 3001}
    with pytest.raises(ReplacementNeeded):
        deployer.update("AWS::ElasticLoadBalancingV2::TargetGroup", serving.targets, serving.targets_properties, other)
    with pytest.raises(ResourceFailed, match="ELB app/"):
        deployer.delete("AWS::EC2::Subnet", serving.subnets_created[0])
    deployer.delete("AWS::ElasticLoadBalancingV2::LoadBalancer", serving.balancer, **serving.balancer_properties)
    deployer.delete("AWS::EC2::Subnet", serving.subnets_created[0])


def test_hosts_that_ecs_manages(deployer: Deployer) -> None:
    serving, client = Serving(deployer), deployer.client("ecs")
    role = serving.create("IAM::Role", AssumeRolePolicyDocument=trust("ecs.amazonaws.com")).attributes["Arn"]
    host = serving.create("IAM::Role", AssumeRolePolicyDocument=trust("ec2.amazonaws.com")).physical_id
    profile = serving.create("IAM::InstanceProfile", Roles=[host]).attributes["Arn"]
    launch = {
        "Ec2InstanceProfileArn": profile,
        "NetworkConfiguration": {"Subnets": serving.subnets, "SecurityGroups": [serving.group]},
        "StorageConfiguration": {"StorageSizeGiB": 120},
        "InstanceRequirements": {
            "VCpuCount": {"Min": 4},
            "MemoryMiB": {"Min": 16384},
            "AllowedInstanceTypes": ["inf2.xlarge"],
        },
    }
    properties = {
        "ClusterName": serving.cluster.physical_id,
        "ManagedInstancesProvider": {"InfrastructureRoleArn": role, "InstanceLaunchTemplate": launch},
    }
    provider = serving.create("ECS::CapacityProvider", **properties)
    (reported,) = client.describe_capacity_providers(capacityProviders=[provider.physical_id])["capacityProviders"]
    assert (reported["type"], reported["cluster"]) == ("MANAGED_INSTANCES", "chat")
    requirements = reported["managedInstancesProvider"]["instanceLaunchTemplate"]["instanceRequirements"]
    assert requirements["allowedInstanceTypes"] == ["inf2.xlarge"]
    larger = {**launch, "StorageConfiguration": {"StorageSizeGiB": 200}}
    after = properties | {"ManagedInstancesProvider": {"InfrastructureRoleArn": role, "InstanceLaunchTemplate": larger}}
    deployer.update("AWS::ECS::CapacityProvider", provider, properties, after)
    with pytest.raises(ResourceFailed, match="ClusterContainsCapacityProvider"):
        deployer.delete("AWS::ECS::Cluster", serving.cluster)

    neuron = {**MANAGED_SERVER, "ResourceRequirements": [{"Type": "NeuronDevice", "Value": "ALL"}], "MountPoints": []}
    managed = {**serving.task_properties, "RequiresCompatibilities": ["MANAGED_INSTANCES"], "Volumes": []}
    task = serving.create("ECS::TaskDefinition", **managed | {"ContainerDefinitions": [neuron]}).physical_id
    definition = client.describe_task_definition(taskDefinition=task)["taskDefinition"]
    assert definition["compatibilities"] == ["MANAGED_INSTANCES"]
    assert definition["containerDefinitions"][0]["resourceRequirements"] == [{"type": "NeuronDevice", "value": "ALL"}]
    service = {
        "Cluster": "chat",
        "TaskDefinition": task,
        "DesiredCount": 1,
        "CapacityProviderStrategy": [{"CapacityProvider": provider.physical_id, "Weight": 1}],
        "NetworkConfiguration": {"AwsvpcConfiguration": {"Subnets": serving.subnets}},
    }
    created = serving.create("ECS::Service", **service)
    deployer.delete("AWS::ECS::Service", created, **service)
    deployer.delete("AWS::ECS::CapacityProvider", provider, **after)
    deployer.delete("AWS::ECS::Cluster", serving.cluster)


def test_scaling(deployer: Deployer) -> None:
    serving, client = Serving(deployer), deployer.client("application-autoscaling")
    target_properties: dict[str, Any] = {
        "ServiceNamespace": "ecs",
        "ScalableDimension": "ecs:service:DesiredCount",
        "ResourceId": f"service/chat/{serving.service.attributes['Name']}",
        "MinCapacity": 1,
        "MaxCapacity": 4,
    }
    label = f"{serving.balancer.attributes['LoadBalancerFullName']}/{serving.targets.attributes['TargetGroupFullName']}"
    requests = {"PredefinedMetricType": "ALBRequestCountPerTarget", "ResourceLabel": label}
    queue = {"Namespace": "LlmFleet", "MetricName": "Queue", "Statistic": "Average"}
    policy: dict[str, Any] = {"PolicyType": "TargetTrackingScaling"}
    named = {name: target_properties[name] for name in ("ServiceNamespace", "ScalableDimension", "ResourceId")}
    with pytest.raises(ResourceFailed, match=r"ObjectNotFoundException.*No scalable target registered"):
        serving.create("ApplicationAutoScaling::ScalingPolicy", **policy, **tracking("queue", queue, named))
    target = serving.create("ApplicationAutoScaling::ScalableTarget", **target_properties)
    by_id = {"ScalingTargetId": target.physical_id}
    serving.create("ApplicationAutoScaling::ScalingPolicy", **policy, **tracking("queue", queue, by_id))
    by_requests = tracking("requests", requests, named)
    created = serving.create("ApplicationAutoScaling::ScalingPolicy", **policy, **by_requests)
    alarms = deployer.client("cloudwatch").describe_alarms()["MetricAlarms"]
    assert {one["MetricName"] for one in alarms} == {"Queue", "RequestCountPerTarget"}
    wrong = tracking("wrong", requests | {"ResourceLabel": label.replace("targetgroup", "group")}, named)
    with pytest.raises(ResourceFailed, match="ResourceLabel"):
        serving.create("ApplicationAutoScaling::ScalingPolicy", **policy, **wrong)

    before, after = (policy | tracking("requests", requests, named, value=value) for value in (4, 5))
    changed = deployer.update("AWS::ApplicationAutoScaling::ScalingPolicy", created, before, after)
    assert changed.physical_id == created.physical_id
    assert len(deployer.client("cloudwatch").describe_alarms()["MetricAlarms"]) == len(alarms)
    more = target_properties | {"MaxCapacity": 8}
    deployer.update("AWS::ApplicationAutoScaling::ScalableTarget", target, target_properties, more)
    (reported,) = client.describe_scalable_targets(ServiceNamespace="ecs")["ScalableTargets"]
    assert (reported["MinCapacity"], reported["MaxCapacity"]) == (1, 8)
    assert client.list_tags_for_resource(ResourceARN=reported["ScalableTargetARN"])["Tags"] == {"fleet": "test"}
    deployer.delete("AWS::ApplicationAutoScaling::ScalingPolicy", created, **policy, **by_requests)
    (left,) = client.describe_scaling_policies(ServiceNamespace="ecs")["ScalingPolicies"]
    assert left["PolicyName"] == "queue"


def tracking(name: str, metric: dict[str, Any], target: dict[str, Any], *, value: int = 4) -> dict[str, Any]:
    """Return the properties of a policy that tracks a metric."""
    kind = "PredefinedMetricSpecification" if "PredefinedMetricType" in metric else "CustomizedMetricSpecification"
    configuration = {"TargetValue": value, kind: metric}
    return {"PolicyName": name, "TargetTrackingScalingPolicyConfiguration": configuration, **target}


def test_a_firewall(deployer: Deployer) -> None:
    serving, client = Serving(deployer), deployer.client("wafv2")
    properties: dict[str, Any] = {"Scope": "REGIONAL", "DefaultAction": {"Allow": {}}, "VisibilityConfig": SEEN}
    acl = serving.create("WAFv2::WebACL", **properties)
    both = {"ResourceArn": serving.balancer.physical_id, "WebACLArn": acl.attributes["Arn"]}
    association = serving.create("WAFv2::WebACLAssociation", **both)
    assert client.get_web_acl_for_resource(ResourceArn=both["ResourceArn"])["WebACL"]["ARN"] == both["WebACLArn"]
    with pytest.raises(ResourceFailed, match="WAFAssociatedItemException"):
        deployer.delete("AWS::WAFv2::WebACL", acl, **properties)
    logs = {"ResourceArn": both["WebACLArn"], "LogDestinationConfigs": [log_group(serving, "chat")]}
    with pytest.raises(ResourceFailed, match="aws-waf-logs-"):
        serving.create("WAFv2::LoggingConfiguration", **logs)
    logs["LogDestinationConfigs"] = [log_group(serving, "aws-waf-logs-chat")]
    serving.create("WAFv2::LoggingConfiguration", **logs)
    (reported,) = client.list_logging_configurations(Scope="REGIONAL")["LoggingConfigurations"]
    assert reported["LogDestinationConfigs"] == logs["LogDestinationConfigs"]
    deployer.delete("AWS::WAFv2::WebACLAssociation", association, **both)
    deployer.delete("AWS::WAFv2::WebACL", acl, **properties)
    assert client.list_web_acls(Scope="REGIONAL")["WebACLs"] == []


def log_group(serving: Serving, name: str) -> str:
    """Create a log group; return its ARN."""
    return serving.create("Logs::LogGroup", LogGroupName=name).attributes["Arn"]


def test_composite_alarms_and_alarms_of_logs(deployer: Deployer) -> None:
    serving = Serving(deployer)
    log_group(serving, "chat")
    transformation = {
        "MetricName": "Rejected",
        "MetricNamespace": "LlmFleet",
        "MetricValue": "1",
        "Dimensions": [{"Key": "Code", "Value": "$.code"}],
    }
    filtered = {"LogGroupName": "chat", "FilterPattern": "{ $.event = rejected }"}
    serving.create("Logs::MetricFilter", **filtered, MetricTransformations=[transformation])
    (reported,) = deployer.client("logs").describe_metric_filters(logGroupName="chat")["metricFilters"]
    assert reported["metricTransformations"][0]["dimensions"] == {"Code": "$.code"}

    with pytest.raises(ResourceFailed, match="do not exist: hot"):
        serving.create("CloudWatch::CompositeAlarm", AlarmRule='ALARM("hot")')
    alarm = {"ComparisonOperator": "GreaterThanThreshold", "EvaluationPeriods": 1, "MetricName": "Rejected"}
    numbers = {"Namespace": "LlmFleet", "Period": 60, "Statistic": "Sum", "Threshold": 0}
    serving.create("CloudWatch::Alarm", AlarmName="hot", **alarm, **numbers)
    made = serving.create("CloudWatch::CompositeAlarm", AlarmRule='ALARM("hot")', AlarmName="all")
    client = deployer.client("cloudwatch")
    (reported,) = client.describe_alarms(AlarmTypes=["CompositeAlarm"])["CompositeAlarms"]
    assert (reported["AlarmName"], reported["AlarmRule"]) == (made.physical_id, 'ALARM("hot")')


def test_the_parameters_of_the_neuron_amis_exist(deployer: Deployer) -> None:
    client = deployer.client("ssm")
    prefix = "/aws/service/ecs/optimized-ami/amazon-linux-2023/neuron"
    name = f"{prefix}/al2023-ami-ecs-neuron-hvm-2023.0.20260701-kernel-6.1-x86_64/image_id"
    image = client.get_parameter(Name=name)["Parameter"]["Value"]
    assert image.startswith("ami-0")
    assert image == client.get_parameter(Name=name)["Parameter"]["Value"]
    assert image != client.get_parameter(Name=f"{prefix}/recommended/image_id")["Parameter"]["Value"]
    with pytest.raises(client.exceptions.ParameterNotFound):
        client.get_parameter(Name=f"{prefix}/al2023-ami-ecs-neuron-hvm-2023/image_id")
