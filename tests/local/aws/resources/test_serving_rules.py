"""Requests that the models allow and ECS, ELB and Auto Scaling reject, and deletions of resources in use."""

import base64
import json
from typing import Any

import pytest

from llm_fleet_local.aws.resource_provider import ResourceFailed
from tests.local.aws.resources.serving import MANAGED_SERVER, NOT_FOUND, SERVER, Serving
from tests.local.aws.resources.support import Deployer

NEURON = [{"Type": "NeuronDevice", "Value": "ALL"}]
SIDECAR = {"Name": "sidecar", "Image": "example/side:1", "Memory": 100}
BIG = base64.b64encode(b"#" * 16385).decode()


SERVICES: tuple[tuple[dict[str, Any], str], ...] = (
    ({"LaunchType": "EC2"}, "both a launch type and capacity provider strategy"),
    ({"CapacityProviderStrategy": [{"CapacityProvider": "other"}]}, "not associated with the cluster.*other"),
    ({"NetworkConfiguration": None}, "Network Configuration must be provided"),
    (
        {"DeploymentConfiguration": {"MaximumPercent": 100, "MinimumHealthyPercent": 100}},
        "cannot be 100 as this will block deployments",
    ),
    ({"AvailabilityZoneRebalancing": "ENABLED"}, "requires a maximumPercent above 100"),
    ({"LoadBalancers": [{"ContainerName": "chat", "ContainerPort": 8080}]}, "container chat does not exist"),
    ({"LoadBalancers": [{"ContainerName": "server", "ContainerPort": 80}]}, "did not have a container port 80"),
    ({"SchedulingStrategy": "DAEMON"}, "does not support a desired count"),
    ({"TaskDefinition": "missing"}, "Unable to describe task definition"),
)


def test_services_that_are_rejected(deployer: Deployer) -> None:
    serving = Serving(deployer)
    for changes, reported in SERVICES:
        properties = serving.service_properties | changes
        group = {"TargetGroupArn": serving.targets.physical_id}
        properties["LoadBalancers"] = [group | one for one in properties["LoadBalancers"] or ()] or None
        given = {name: value for name, value in properties.items() if value is not None}
        with pytest.raises(ResourceFailed, match=reported):
            serving.create("ECS::Service", **given)
    assert deployer.client("ecs").list_services(cluster="chat")["serviceArns"] == []


def test_a_grace_period_is_accepted_without_a_load_balancer(deployer: Deployer) -> None:
    serving = Serving(deployer)
    given = {name: value for name, value in serving.service_properties.items() if name != "LoadBalancers"}
    serving.create("ECS::Service", **given | {"HealthCheckGracePeriodSeconds": 60})


def test_a_service_waits_for_its_listener_and_its_provider(deployer: Deployer) -> None:
    """Two common races: a service is created before the listener rule, or before the association."""
    serving = Serving(deployer)
    properties = serving.service_properties
    deployer.delete("AWS::ElasticLoadBalancingV2::ListenerRule", serving.rule, **serving.rule_properties)
    with pytest.raises(ResourceFailed, match="does not have an associated load balancer"):
        serving.create("ECS::Service", **properties)
    serving.create("ElasticLoadBalancingV2::ListenerRule", **serving.rule_properties)
    association = serving.association_properties
    deployer.delete("AWS::ECS::ClusterCapacityProviderAssociations", serving.association, **association)
    with pytest.raises(ResourceFailed, match="not associated with the cluster"):
        serving.create("ECS::Service", **properties)


def test_hosts_registered_before_their_provider_get_no_task(deployer: Deployer) -> None:
    """Hosts that ECS does not count already reach `MaxSize`, so no other host can start."""
    serving = Serving(deployer)
    serving.hosts_properties |= {"MinSize": "2", "MaxSize": "2", "DesiredCapacity": "2"}
    with pytest.raises(ResourceFailed, match="NotStabilized: 0 of 2 tasks run"):
        _ = serving.service
    assert serving.reported_of_service()["status"] == "INACTIVE"


def test_managed_scaling_starts_hosts_for_tasks_up_to_the_groups_maximum(deployer: Deployer) -> None:
    serving = Serving(deployer)
    _ = serving.service
    assert serving.reported_of_service()["runningCount"] == 2
    (group,) = deployer.client("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"]
    assert len(group["Instances"]) == 2
    more = serving.service_properties | {"DesiredCount": 4}
    with pytest.raises(ResourceFailed, match="NotStabilized: 3 of 4 tasks run"):
        deployer.update("AWS::ECS::Service", serving.service, serving.service_properties, more)


@pytest.mark.parametrize(("most", "hosts"), [("3", 2), ("1", 1)])
def test_managed_scaling_starts_two_hosts_in_an_empty_group(deployer: Deployer, most: str, hosts: int) -> None:
    serving = Serving(deployer)
    serving.hosts_properties |= {"MaxSize": most}
    serving.service_properties |= {"DesiredCount": 1}
    _ = serving.service
    assert serving.reported_of_service()["runningCount"] == 1
    (group,) = deployer.client("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"]
    assert len(group["Instances"]) == hosts


def test_dependencies_of_a_service_cannot_be_deleted_before_it(deployer: Deployer) -> None:
    serving = Serving(deployer)
    _ = serving.service
    for resource_type, created, properties, reported in (
        ("ECS::CapacityProvider", serving.provider, {}, "associated with chat, chat: chat-hosts"),
        ("ECS::ClusterCapacityProviderAssociations", serving.association, {}, "ResourceInUseException"),
        ("ECS::Cluster", serving.cluster, {}, "ClusterContainsServicesException"),
        ("ElasticLoadBalancingV2::TargetGroup", serving.targets, {}, "currently in use by a listener"),
    ):
        with pytest.raises(ResourceFailed, match=reported):
            deployer.delete(f"AWS::{resource_type}", created, **properties)
    deployer.delete("AWS::ECS::Service", serving.service, **serving.service_properties)
    with pytest.raises(ResourceFailed, match="associated with chat: chat-hosts"):
        deployer.delete("AWS::ECS::CapacityProvider", serving.provider)  # the cluster still uses it
    association = serving.association_properties
    deployer.delete("AWS::ECS::ClusterCapacityProviderAssociations", serving.association, **association)
    deployer.delete("AWS::ECS::CapacityProvider", serving.provider)
    with pytest.raises(ResourceFailed, match="ClusterContainsContainerInstancesException"):
        deployer.delete("AWS::ECS::Cluster", serving.cluster)  # it has hosts
    deployer.delete("AWS::AutoScaling::AutoScalingGroup", serving.hosts, **serving.hosts_properties)
    deployer.delete("AWS::ECS::Cluster", serving.cluster)


TASKS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"ContainerDefinitions": [SERVER | {"ResourceRequirements": NEURON}]}, "only for MANAGED_INSTANCES"),
    (
        {
            "RequiresCompatibilities": ["MANAGED_INSTANCES"],
            "ContainerDefinitions": [MANAGED_SERVER | {"ResourceRequirements": [NEURON[0] | {"Value": "1"}]}],
        },
        "must be ALL",
    ),
    (
        {
            "RequiresCompatibilities": ["MANAGED_INSTANCES"],
            "IpcMode": "host",
            "ContainerDefinitions": [MANAGED_SERVER | {"LinuxParameters": {"SharedMemorySize": 1024}}],
        },
        "not valid for MANAGED_INSTANCES: ipcMode, sharedMemorySize, sourcePath",
    ),
    (
        {
            "RequiresCompatibilities": ["MANAGED_INSTANCES"],
            "ContainerDefinitions": [MANAGED_SERVER | {"StopTimeout": 86401}],
        },
        "stopTimeout must be at most 86400 seconds for MANAGED_INSTANCES",
    ),
    ({"TaskRoleArn": "arn:aws:iam::123456789012:role/none"}, "Role is not valid"),
    ({"Memory": "11000"}, "'memory' setting for the containers"),
    ({"Volumes": []}, "mounts model, which is not a volume"),
    (
        {
            "ContainerDefinitions": [
                SERVER | {"DependsOn": [{"ContainerName": "sidecar", "Condition": "SUCCESS"}]},
                SIDECAR,
            ]
        },
        "SUCCESS cannot be set on the essential container sidecar",
    ),
    (
        {"ContainerDefinitions": [SERVER | {"DependsOn": [{"ContainerName": "none", "Condition": "START"}]}]},
        "depends on none",
    ),
    ({"ContainerDefinitions": [SERVER | {"Essential": False}]}, "any essential container"),
    ({"ContainerDefinitions": [SERVER | {"Devices": []}]}, "unknown property .*Devices"),
)


def test_task_definitions_that_are_rejected(deployer: Deployer) -> None:
    serving = Serving(deployer)
    for changes, reported in TASKS:
        with pytest.raises(ResourceFailed, match=reported):
            serving.create("ECS::TaskDefinition", **serving.task_properties | changes)


def test_capacity_that_is_rejected(deployer: Deployer) -> None:
    serving = Serving(deployer)
    group = serving.provider_properties["AutoScalingGroupProvider"]
    protected = group | {"ManagedTerminationProtection": "ENABLED"}
    for properties, reported in (
        ({"Name": "ecs-hosts", "AutoScalingGroupProvider": group}, "It must not begin with aws, ecs, fargate"),
        ({"AutoScalingGroupProvider": group | {"AutoScalingGroupArn": "none"}}, "Auto Scaling group ARN is not valid"),
        ({"AutoScalingGroupProvider": protected}, "must have instance protection"),
    ):
        with pytest.raises(ResourceFailed, match=reported):
            serving.create("ECS::CapacityProvider", **properties)
    _ = serving.provider
    with pytest.raises(ResourceFailed, match="already being used by another capacity provider"):
        serving.create("ECS::CapacityProvider", AutoScalingGroupProvider=group)
    with pytest.raises(ResourceFailed, match="does not exist: NotFound: none"):
        serving.create(
            "ECS::ClusterCapacityProviderAssociations",
            Cluster=serving.cluster.physical_id,
            CapacityProviders=["none"],
            DefaultCapacityProviderStrategy=[],
        )


def test_hosts_that_are_rejected(deployer: Deployer) -> None:
    serving = Serving(deployer)
    properties = serving.hosts_properties
    for changes, reported in (
        ({"LaunchTemplate": {"LaunchTemplateId": "lt-0123456789abcdef0", "Version": "1"}}, "valid fully-formed"),
        ({"LaunchTemplate": {"LaunchTemplateId": serving.template.physical_id, "Version": "7"}}, "in that version"),
        ({"DesiredCapacity": "4"}, "Desired capacity:4 must be between the specified min size:0 and max size:3"),
    ):
        with pytest.raises(ResourceFailed, match=reported):
            serving.create("AutoScaling::AutoScalingGroup", **properties | changes)
    data = serving.template_properties["LaunchTemplateData"]
    for changes, reported in (
        ({"UserData": BIG}, "InvalidUserData.Malformed.*limited to 16384 bytes"),
        ({"SecurityGroupIds": ["sg-0123456789abcdef0"]}, "InvalidGroup"),
        ({"IamInstanceProfile": {"Arn": "arn:aws:iam::123456789012:instance-profile/none"}}, "NoSuchEntity|not found"),
    ):
        with pytest.raises(ResourceFailed, match=reported):
            serving.create("EC2::LaunchTemplate", LaunchTemplateData=data | changes)


def test_a_group_rejects_a_template_with_security_groups_next_to_its_interfaces(deployer: Deployer) -> None:
    """EC2 accepts the template, and Auto Scaling rejects it."""
    serving = Serving(deployer)
    interfaces = [{"DeviceIndex": 0, "Groups": [serving.group]}]
    serving.template_properties["LaunchTemplateData"] |= {"NetworkInterfaces": interfaces}
    template = {"LaunchTemplateId": serving.template.physical_id, "Version": "1"}
    with pytest.raises(ResourceFailed, match=r"InvalidQueryParameter.*the security groups must be a part of it"):
        serving.create("AutoScaling::AutoScalingGroup", **serving.hosts_properties | {"LaunchTemplate": template})


def test_dashboards_that_are_rejected(deployer: Deployer) -> None:
    for body in ("no JSON", "{}", '{"widgets": [{"type": "text"}]}'):
        with pytest.raises(ResourceFailed, match="InvalidParameterInput"):
            deployer.create("AWS::CloudWatch::Dashboard", DashboardBody=body)


def test_load_balancers_that_are_rejected(deployer: Deployer) -> None:
    serving = Serving(deployer)
    balancer = serving.balancer_properties
    logs = [{"Key": "access_logs.s3.enabled", "Value": "true"}, {"Key": "access_logs.s3.bucket", "Value": "logs"}]
    for changes, reported in (
        ({"Subnets": serving.subnets[:1]}, "At least two subnets"),
        ({"SecurityGroups": ["sg-0123456789abcdef0"]}, "does not exist"),
        (
            {"LoadBalancerAttributes": [{"Key": "idle_timeout.timeout_seconds", "Value": "4001"}]},
            "must be from 1 to 4000",
        ),
        ({"LoadBalancerAttributes": [{"Key": "idle.timeout", "Value": "1"}]}, "Key idle.timeout not valid"),
        ({"LoadBalancerAttributes": logs}, "S3 bucket does not exist: logs"),
    ):
        with pytest.raises(ResourceFailed, match=reported):
            serving.create("ElasticLoadBalancingV2::LoadBalancer", **balancer | changes)
    assert deployer.client("elbv2").describe_load_balancers()["LoadBalancers"] == []
    serving.create("S3::Bucket", BucketName="logs")
    with pytest.raises(ResourceFailed, match="Access Denied for bucket: logs"):
        serving.create("ElasticLoadBalancingV2::LoadBalancer", **balancer | {"LoadBalancerAttributes": logs})
    writer = {"Service": "logdelivery.elasticloadbalancing.amazonaws.com"}
    statement = {"Effect": "Allow", "Principal": writer, "Action": "s3:PutObject", "Resource": "arn:aws:s3:::logs/*"}
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    serving.create("S3::BucketPolicy", Bucket="logs", PolicyDocument=json.dumps(policy))
    protected = [*logs, {"Key": "deletion_protection.enabled", "Value": "true"}]
    made = serving.create("ElasticLoadBalancingV2::LoadBalancer", **balancer | {"LoadBalancerAttributes": protected})
    with pytest.raises(ResourceFailed, match="deletion protection is enabled"):
        deployer.delete("AWS::ElasticLoadBalancingV2::LoadBalancer", made)


def test_listeners_that_are_rejected(deployer: Deployer) -> None:
    serving = Serving(deployer)
    jwt = {"Issuer": "https://issuer.example", "JwksEndpoint": "https://issuer.example/keys"}
    check = {"Type": "jwt-validation", "Order": 1, "JwtValidationConfig": jwt}
    for changes, reported in (
        ({"Protocol": "HTTPS"}, "A certificate must be specified"),
        ({"DefaultActions": [check, NOT_FOUND | {"Order": 2}]}, "jwt-validation is supported for HTTPS listeners only"),
        ({"DefaultActions": [check]}, "must be one of forward"),
        ({"Protocol": "HTTPS", "Certificates": [{"CertificateArn": NO_CERTIFICATE}]}, "CertificateNotFound|not find"),
    ):
        with pytest.raises(ResourceFailed, match=reported):
            serving.create("ElasticLoadBalancingV2::Listener", **serving.listener_properties | changes)
    _ = serving.listener
    with pytest.raises(ResourceFailed, match="already exists on this port"):
        serving.create("ElasticLoadBalancingV2::Listener", **serving.listener_properties)
    paths = [{"Field": "path-pattern", "PathPatternConfig": {"Values": [f"/{n}" for n in range(6)]}}]
    for changes, reported in (
        ({"Conditions": paths}, "6 condition values; a rule can have at most 5"),
        ({"Actions": [{"Type": "forward", "TargetGroupArn": NO_TARGETS}]}, "not found"),
    ):
        with pytest.raises(ResourceFailed, match=reported):
            serving.create("ElasticLoadBalancingV2::ListenerRule", **serving.rule_properties | changes)


def test_a_target_group_has_one_load_balancer(deployer: Deployer) -> None:
    serving, client = Serving(deployer), deployer.client("elbv2")
    _ = serving.rule
    other = serving.create("ElasticLoadBalancingV2::LoadBalancer", **serving.balancer_properties).physical_id
    forward = {"Type": "forward", "TargetGroupArn": serving.targets.physical_id}
    weighed = {"Type": "forward", "ForwardConfig": {"TargetGroups": [{"TargetGroupArn": serving.targets.physical_id}]}}
    next_to = serving.listener_properties | {"LoadBalancerArn": other}
    for action in (forward, weighed):
        with pytest.raises(ResourceFailed, match="cannot be associated with more than one load balancer"):
            serving.create("ElasticLoadBalancingV2::Listener", **next_to | {"DefaultActions": [action]})
    listener = serving.create("ElasticLoadBalancingV2::Listener", **next_to).physical_id
    rule = serving.rule_properties | {"ListenerArn": listener}
    with pytest.raises(ResourceFailed, match="cannot be associated with more than one load balancer"):
        serving.create("ElasticLoadBalancingV2::ListenerRule", **rule)
    with pytest.raises(client.exceptions.TargetGroupAssociationLimitException):
        client.modify_listener(ListenerArn=listener, DefaultActions=[forward])
    answer = serving.create("ElasticLoadBalancingV2::ListenerRule", **rule | {"Actions": [NOT_FOUND]}).physical_id
    with pytest.raises(client.exceptions.TargetGroupAssociationLimitException):
        client.modify_rule(RuleArn=answer, Actions=[forward])
    second = serving.listener_properties | {"Port": 81, "DefaultActions": [forward]}
    serving.create("ElasticLoadBalancingV2::Listener", **second)  # same load balancer
    client.delete_load_balancer(LoadBalancerArn=serving.balancer.physical_id)
    client.modify_rule(RuleArn=answer, Actions=[forward])


def test_a_listener_with_a_certificate_can_check_tokens(deployer: Deployer) -> None:
    serving = Serving(deployer)
    certificate = deployer.client("acm").request_certificate(DomainName="chat.example.com")["CertificateArn"]
    secure = {"Protocol": "HTTPS", "Port": 443, "Certificates": [{"CertificateArn": certificate}]}
    listener = serving.create("ElasticLoadBalancingV2::Listener", **serving.listener_properties | secure)
    jwt = {"Issuer": "https://issuer.example", "JwksEndpoint": "https://issuer.example/keys"}
    check: dict[str, Any] = {"Type": "jwt-validation", "Order": 1, "JwtValidationConfig": jwt}
    forward = {"Type": "forward", "Order": 2, "TargetGroupArn": serving.targets.physical_id}
    rule = serving.rule_properties | {"ListenerArn": listener.physical_id, "Actions": [check, forward]}
    serving.create("ElasticLoadBalancingV2::ListenerRule", **rule)
    reported, _ = deployer.client("elbv2").describe_rules(ListenerArn=listener.physical_id)["Rules"]
    assert reported["Actions"] == [check, forward]


NO_CERTIFICATE = "arn:aws:acm:us-west-2:123456789012:certificate/11111111-2222-3333-4444-555555555555"
NO_TARGETS = "arn:aws:elasticloadbalancing:us-west-2:123456789012:targetgroup/none/0123456789abcdef"
