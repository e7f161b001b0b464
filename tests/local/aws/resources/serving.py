"""A service and its dependencies, in the form of an inference service; each part is created on first use."""

import base64
from functools import cached_property
from typing import Any

from llm_fleet_local.aws.resource_provider import Created
from tests.local.aws.resources.support import Deployer, trust

USER_DATA = "#!/bin/bash\necho 'ECS_CLUSTER=chat' >> /etc/ecs/ecs.config\n"
HEALTH = {"HealthCheckPath": "/health", "HealthCheckIntervalSeconds": 15, "Matcher": {"HttpCode": "200"}}
NOT_FOUND = {"Type": "fixed-response", "FixedResponseConfig": {"StatusCode": "404", "ContentType": "text/plain"}}
SERVER: dict[str, Any] = {
    "Name": "server",
    "Image": "example/tgi:1",
    "Memory": 12000,
    "StopTimeout": 120,
    "LinuxParameters": {"Devices": [{"HostPath": "/dev/neuron0", "ContainerPath": "/dev/neuron0"}]},
    "PortMappings": [{"ContainerPort": 8080}],
    "MountPoints": [{"SourceVolume": "model", "ContainerPath": "/model", "ReadOnly": True}],
}
MANAGED_SERVER = {name: value for name, value in SERVER.items() if name != "LinuxParameters"}


class Serving:
    """Parts of a service; `…_properties` are the properties of each."""

    def __init__(self, deployer: Deployer) -> None:
        self.deployer = deployer

    def create(self, resource_type: str, **properties: Any) -> Created:
        return self.deployer.create(f"AWS::{resource_type}", **properties)

    @cached_property
    def vpc(self) -> str:
        vpc = self.create("EC2::VPC", CidrBlock="10.0.0.0/16").physical_id
        gateway = self.create("EC2::InternetGateway").physical_id
        self.create("EC2::VPCGatewayAttachment", VpcId=vpc, InternetGatewayId=gateway)
        return vpc

    @cached_property
    def subnets_created(self) -> list[Created]:
        return [
            self.create("EC2::Subnet", VpcId=self.vpc, CidrBlock=block, AvailabilityZone=zone)
            for block, zone in (("10.0.0.0/24", "us-west-2a"), ("10.0.1.0/24", "us-west-2b"))
        ]

    @property
    def subnets(self) -> list[str]:
        return [one.physical_id for one in self.subnets_created]

    @cached_property
    def group(self) -> str:
        return self.create("EC2::SecurityGroup", GroupDescription="all", VpcId=self.vpc).physical_id

    @cached_property
    def task_role(self) -> str:
        return self.create("IAM::Role", AssumeRolePolicyDocument=trust("ecs-tasks.amazonaws.com")).attributes["Arn"]

    @cached_property
    def template_properties(self) -> dict[str, Any]:
        role = self.create("IAM::Role", AssumeRolePolicyDocument=trust("ec2.amazonaws.com")).physical_id
        data = {
            "ImageId": "ami-0123456789abcdef0",
            "InstanceType": "inf2.xlarge",
            "UserData": base64.b64encode(USER_DATA.encode()).decode(),
            "SecurityGroupIds": [self.group],
            "IamInstanceProfile": {"Arn": self.create("IAM::InstanceProfile", Roles=[role]).attributes["Arn"]},
            "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 2},
            "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 200, "Encrypted": True}}],
        }
        tags = [{"ResourceType": "launch-template", "Tags": [{"Key": "kind", "Value": "host"}]}]
        return {"LaunchTemplateData": data, "TagSpecifications": tags}

    @cached_property
    def template(self) -> Created:
        return self.create("EC2::LaunchTemplate", **self.template_properties)

    @cached_property
    def hosts_properties(self) -> dict[str, Any]:
        template = {"LaunchTemplateId": self.template.physical_id, "Version": "1"}
        return {
            "MinSize": "0",
            "MaxSize": "3",
            "DesiredCapacity": "0",
            "VPCZoneIdentifier": self.subnets,
            "LaunchTemplate": template,
            "DefaultInstanceWarmup": 60,
            "MetricsCollection": [{"Granularity": "1Minute"}],
            "Tags": [{"Key": "Name", "Value": "host", "PropagateAtLaunch": True}],
            "LifecycleHookSpecificationList": [
                {"LifecycleHookName": "boot", "LifecycleTransition": "autoscaling:EC2_INSTANCE_LAUNCHING"}
            ],
        }

    @cached_property
    def hosts(self) -> Created:
        return self.create("AutoScaling::AutoScalingGroup", **self.hosts_properties)

    @cached_property
    def cluster(self) -> Created:
        return self.create("ECS::Cluster", ClusterName="chat")

    @cached_property
    def provider_properties(self) -> dict[str, Any]:
        scaling = {"Status": "ENABLED", "TargetCapacity": 100}
        group = {"AutoScalingGroupArn": self.hosts.physical_id, "ManagedScaling": scaling}
        return {"Name": "chat-hosts", "AutoScalingGroupProvider": group | {"ManagedDraining": "ENABLED"}}

    @cached_property
    def provider(self) -> Created:
        return self.create("ECS::CapacityProvider", **self.provider_properties)

    @cached_property
    def association_properties(self) -> dict[str, Any]:
        name = self.provider.physical_id
        return {
            "Cluster": self.cluster.physical_id,
            "CapacityProviders": [name],
            "DefaultCapacityProviderStrategy": [{"CapacityProvider": name, "Weight": 1}],
        }

    @cached_property
    def association(self) -> Created:
        return self.create("ECS::ClusterCapacityProviderAssociations", **self.association_properties)

    @cached_property
    def task_properties(self) -> dict[str, Any]:
        return {
            "Family": "chat",
            "RequiresCompatibilities": ["EC2"],
            "NetworkMode": "awsvpc",
            "ExecutionRoleArn": self.task_role,
            "Memory": "14000",
            "ContainerDefinitions": [SERVER],
            "Volumes": [{"Name": "model", "Host": {"SourcePath": "/mnt/model"}}],
        }

    @cached_property
    def task(self) -> Created:
        return self.create("ECS::TaskDefinition", **self.task_properties)

    @cached_property
    def balancer_properties(self) -> dict[str, Any]:
        idle = {"Key": "idle_timeout.timeout_seconds", "Value": "900"}
        return {"Subnets": self.subnets, "SecurityGroups": [self.group], "LoadBalancerAttributes": [idle]}

    @cached_property
    def balancer(self) -> Created:
        return self.create("ElasticLoadBalancingV2::LoadBalancer", **self.balancer_properties)

    @cached_property
    def targets_properties(self) -> dict[str, Any]:
        algorithm = {"Key": "load_balancing.algorithm.type", "Value": "least_outstanding_requests"}
        place: dict[str, Any] = {"Port": 8080, "Protocol": "HTTP", "VpcId": self.vpc, "TargetType": "ip"}
        return place | HEALTH | {"TargetControlPort": 3000, "TargetGroupAttributes": [algorithm]}

    @cached_property
    def targets(self) -> Created:
        return self.create("ElasticLoadBalancingV2::TargetGroup", **self.targets_properties)

    @cached_property
    def listener_properties(self) -> dict[str, Any]:
        return {
            "LoadBalancerArn": self.balancer.physical_id,
            "Port": 80,
            "Protocol": "HTTP",
            "DefaultActions": [NOT_FOUND],
        }

    @cached_property
    def listener(self) -> Created:
        return self.create("ElasticLoadBalancingV2::Listener", **self.listener_properties)

    @cached_property
    def rule_properties(self) -> dict[str, Any]:
        return {
            "ListenerArn": self.listener.physical_id,
            "Priority": 10,
            "Conditions": [{"Field": "path-pattern", "PathPatternConfig": {"Values": ["/v1/*"]}}],
            "Actions": [{"Type": "forward", "TargetGroupArn": self.targets.physical_id}],
        }

    @cached_property
    def rule(self) -> Created:
        return self.create("ElasticLoadBalancingV2::ListenerRule", **self.rule_properties)

    @cached_property
    def service_properties(self) -> dict[str, Any]:
        """Return the service's properties; its dependencies are created first."""
        _ = self.association, self.rule
        balancer = {"ContainerName": "server", "ContainerPort": 8080, "TargetGroupArn": self.targets.physical_id}
        place = {"Subnets": self.subnets, "SecurityGroups": [self.group]}
        breaker = {"Enable": True, "Rollback": True}
        return {
            "ServiceName": "chat",
            "Cluster": self.cluster.physical_id,
            "TaskDefinition": self.task.physical_id,
            "DesiredCount": 2,
            "CapacityProviderStrategy": [{"CapacityProvider": self.provider.physical_id, "Weight": 1}],
            "LoadBalancers": [balancer],
            "NetworkConfiguration": {"AwsvpcConfiguration": place},
            "DeploymentConfiguration": {
                "MaximumPercent": 100,
                "MinimumHealthyPercent": 0,
                "DeploymentCircuitBreaker": breaker,
            },
            "HealthCheckGracePeriodSeconds": 1800,
            "PlacementConstraints": [{"Type": "distinctInstance"}],
        }

    @cached_property
    def service(self) -> Created:
        return self.create("ECS::Service", **self.service_properties)

    def reported_of_service(self) -> dict[str, Any]:
        (reported,) = self.deployer.client("ecs").describe_services(cluster="chat", services=["chat"])["services"]
        return reported
