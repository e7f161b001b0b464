"""The hosts of a service: Auto Scaling group, launch template, user data, role and security group.

The permissions replace AmazonEC2ContainerServiceforEC2Role, which lets a host write all log groups of the account, pull
all images and join all clusters. Which actions support resources is from AWS's service authorization reference.
"""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.neuron import ami_for, ami_parameter, host_facts, neuron_instance
from llm_fleet.iam.node_role import ServiceRole, sessions
from llm_fleet.iam.statements import Permission, Place, characters_of
from llm_fleet.inference.model import ModelMount
from llm_fleet.lifecycle.script_folder import default_folder, packed, read_folder
from llm_fleet.network.security_group import HttpsOutSecurityGroup
from llm_fleet.rules.inference.hosts import is_ami_id
from llm_fleet.rules.problem import is_unresolved, raise_problems
from llm_fleet.rules.values import policy_size
from llm_fleet.spec.service import TaskCount

_SUSPENDED = ["AZRebalance", "AlarmNotification", "HealthCheck", "ReplaceUnhealthy", "ScheduledActions"]
"""Processes that are suspended while hosts are replaced; the list is CloudFormation's recommendation."""


class HostGroup(Construct):
    """Hosts that signal the result of their start to CloudFormation, and are replaced one by one after a change.

    The group is empty at first, and ECS managed scaling sets the number of hosts. A host that registers before the
    capacity provider is associated with its cluster may get no task of the service, so AWS advises creating the group
    empty (ECS developer guide, Auto Scaling group capacity providers).
    assumption: ecs-hosts-before-their-provider-are-not-used
    """

    def __init__(
        self, scope: Construct, id: str, *, tasks: TaskCount, subnets: Sequence[ec2.ISubnet], name: str
    ) -> None:
        """Create the group without a launch template: `starts_from` sets it.

        The template's user data has this group's logical id, so that hosts can send signals to it.
        """
        super().__init__(scope, id)
        self.resource = autoscaling.CfnAutoScalingGroup(
            self,
            "Resource",
            min_size="0",
            max_size=_text(tasks.maximum),
            vpc_zone_identifier=[subnet.subnet_id for subnet in subnets],
            health_check_type="EC2",
            metrics_collection=[
                autoscaling.CfnAutoScalingGroup.MetricsCollectionProperty(granularity="1Minute"),
            ],
            # ECS requires this tag on groups that it scales, and would add it itself.
            tags=[
                autoscaling.CfnAutoScalingGroup.TagPropertyProperty(
                    key="AmazonECSManaged", value="", propagate_at_launch=True
                ),
                autoscaling.CfnAutoScalingGroup.TagPropertyProperty(key="Name", value=name, propagate_at_launch=False),
            ],
        )
        """The L1 construct."""
        self._replace_one_by_one(tasks.minimum)
        acknowledge(
            self,
            "the log group and an alarm on it report hosts that cannot join; that hosts start and end is normal with "
            "scaling",
            "AwsSolutions-AS3",
        )

    def starts_from(self, template: ec2.CfnLaunchTemplate) -> None:
        """Use the latest version of `template`."""
        self.resource.launch_template = autoscaling.CfnAutoScalingGroup.LaunchTemplateSpecificationProperty(
            launch_template_id=template.ref, version=template.attr_latest_version_number
        )

    def _replace_one_by_one(self, least: int) -> None:
        options = self.resource.cfn_options
        timeout = f"PT{host_facts().boot_minutes}M"
        options.update_policy = cdk.CfnUpdatePolicy(
            auto_scaling_rolling_update=cdk.CfnAutoScalingRollingUpdate(
                max_batch_size=1,
                # A host ends before its replacement starts: capacity for an additional host may be unavailable.
                min_instances_in_service=0 if is_unresolved(least) else max(0, least - 1),
                pause_time=timeout,
                wait_on_resource_signals=True,
                suspend_processes=_SUSPENDED,
            ),
            auto_scaling_scheduled_action=cdk.CfnAutoScalingScheduledAction(
                ignore_unmodified_group_size_properties=True
            ),
        )


def _text(number: int) -> str:
    """Return `number` as a string, the type of group sizes in CloudFormation."""
    return cdk.Token.as_string(number) if is_unresolved(number) else str(number)


_HOP_LIMIT = 1
"""Hop limit: the host's programs and the agent, which uses the host's network, are one hop from the metadata service.
Tasks must not get the host's credentials."""


class HostLaunchTemplate(Construct):
    """A launch template for hosts: only IMDSv2, an encrypted gp3 volume, no key pair, no public IP address."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        ami: str | None,
        instance_type: str,
        driver_version: str,
        root_volume_gib: int,
        profile: iam.CfnInstanceProfile,
        security_group: ec2.ISecurityGroup,
        user_data: str,
        name: str,
    ) -> None:
        """Create it. `user_data` is plain text; `name` is the Name tag of hosts."""
        super().__init__(scope, id)
        facts = host_facts()
        tags = [cdk.CfnTag(key="Name", value=name)]
        template = ec2.CfnLaunchTemplate
        self.resource = ec2.CfnLaunchTemplate(
            self,
            "Resource",
            version_description=f"hosts of {name}",
            launch_template_data=template.LaunchTemplateDataProperty(
                image_id=image_id(ami, driver_version),
                instance_type=instance_type,
                iam_instance_profile=template.IamInstanceProfileProperty(arn=profile.attr_arn),
                user_data=cdk.Fn.base64(user_data),
                metadata_options=template.MetadataOptionsProperty(
                    http_endpoint="enabled",
                    http_tokens="required",
                    http_put_response_hop_limit=_HOP_LIMIT,
                    instance_metadata_tags="disabled",
                ),
                monitoring=template.MonitoringProperty(enabled=True),
                network_interfaces=[
                    template.NetworkInterfaceProperty(
                        device_index=0,
                        associate_public_ip_address=False,
                        delete_on_termination=True,
                        groups=[security_group.security_group_id],
                    )
                ],
                block_device_mappings=[
                    template.BlockDeviceMappingProperty(
                        device_name=facts.root_device,
                        ebs=template.EbsProperty(
                            volume_type="gp3",
                            volume_size=root_volume_gib,
                            throughput=facts.throughput_mib_s,
                            encrypted=True,
                            delete_on_termination=True,
                        ),
                    )
                ],
                tag_specifications=[
                    template.TagSpecificationProperty(resource_type=kind, tags=tags) for kind in ("instance", "volume")
                ],
            ),
        )
        """The L1 construct."""


def image_id(ami: str | None, driver_version: str) -> str:
    """Return the AMI id, or a reference to the public SSM parameter of one release, which never changes."""
    if ami is not None and is_ami_id(ami):
        return ami
    return f"{{{{resolve:ssm:{ami_parameter(ami or ami_for(driver_version))}}}}}"


def host_settings(
    scope: Construct,
    *,
    instance_type: str,
    install_driver: bool,
    service_name: str,
    cluster_name: str,
    driver_version: str,
    log_group_name: str,
    signal_resources: list[str],
    mount: ModelMount | None,
) -> dict[str, Any]:
    """Return `settings.json` of `lifecycle_scripts/inference_host`.

    `signal_resources`: logical ids of what waits for the hosts' signals: the Auto Scaling group while it replaces
    hosts, and the wait condition while the stack is created.
    """
    stack = cdk.Stack.of(scope)
    instance = neuron_instance(instance_type)
    return {
        "service": service_name,
        "cluster": cluster_name,
        "region": stack.region,
        "url_suffix": stack.url_suffix,
        "instance_type": str(instance_type),
        "driver": driver_version,
        "install_driver": install_driver,
        "devices": instance.devices if instance else None,
        "log_group": log_group_name,
        "stack": stack.stack_id,
        "signal_resources": signal_resources,
        "mount": None
        if mount is None
        else {
            "bucket": mount.bucket_name,
            "prefix": mount.prefix,
            "path": mount.host_path,
            "cache_gib": mount.cache_gib,
        },
    }


_FOLDER = "inference_host"
_SCRIPT = "user_data.sh"


def host_user_data(scope: Construct, settings: dict[str, Any]) -> str:
    """Return user data with `settings`, which may have tokens.

    EC2's limit is 16 KiB. The limit of a model's prefix (LF710) keeps it below that.
    """
    return (
        _script()
        .replace("@FILES@", packed_files())
        .replace("@SETTINGS@", cdk.Stack.of(scope).to_json_string(settings, 1))
    )


def packed_files() -> str:
    """Return the files of a host, compressed to fit into EC2's limit."""
    files = {file.path: file.data for file in read_folder(_folder()) if file.path != _SCRIPT}
    return packed(files, encode=base64.b85encode)


def _script() -> str:
    """Return the script without its comments, to fit into EC2's 16 KiB."""
    first, *lines = (_folder() / _SCRIPT).read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join([first, *(line for line in lines if not line.startswith("#"))])


def _folder() -> Path:
    return default_folder() / _FOLDER


class HostRole(ServiceRole):
    """A role for EC2 instances, and its instance profile."""

    def __init__(self, scope: Construct, id: str, *, permissions: Sequence[Permission], description: str) -> None:
        """Create the role. Raises `FleetError` when the statements are longer than IAM allows."""
        raise_problems(policy_size(characters_of(permissions)), subject=f"{scope.node.path}/{id}")
        super().__init__(scope, id, service="ec2.amazonaws.com", description=description, permissions=permissions)
        self.profile = iam.CfnInstanceProfile(self, "Profile", roles=[self.role.role_name])
        """Instance profile of the hosts."""


def agent_permissions(place: Place, *, cluster_name: str) -> tuple[Permission, ...]:
    """Return the ECS agent's permissions to join only this cluster and report the state of tasks.

    Images are pulled with the task's execution role, not with this one.
    """
    cluster = place.arn("ecs", f"cluster/{cluster_name}")
    return (
        Permission(
            sid="AgentEndpoint",
            actions=("ecs:DiscoverPollEndpoint",),
            resources=("*",),
            reason="the agent discovers its endpoint; the action supports no resource",
        ),
        Permission(
            sid="AgentCluster",
            actions=(
                "ecs:DeregisterContainerInstance",
                "ecs:RegisterContainerInstance",
                "ecs:SubmitAttachmentStateChanges",
                "ecs:SubmitContainerStateChange",
                "ecs:SubmitTaskStateChange",
            ),
            resources=(cluster,),
            reason="the agent registers its host with this cluster, and reports the state of its tasks",
        ),
        Permission(
            sid="AgentInstance",
            actions=("ecs:Poll", "ecs:StartTelemetrySession"),
            resources=(place.arn("ecs", f"container-instance/{cluster_name}/*"),),
            conditions={"ArnEquals": {"ecs:cluster": cluster}},
            reason="the agent receives tasks and sends metrics; ECS generates the id when a host registers",
        ),
    )


def boot_permissions(*, log_group_arn: str, stack_id: str) -> tuple[Permission, ...]:
    """Return a host's permissions to report the result of its start. `log_group_arn` has no `:*` at its end."""
    return (
        Permission(
            sid="BootStream",
            actions=("logs:CreateLogStream",),
            resources=(f"{log_group_arn}:*",),
            reason="a host creates the stream named after its id; the resource of this action is the log group",
        ),
        Permission(
            sid="BootLog",
            actions=("logs:PutLogEvents",),
            resources=(f"{log_group_arn}:log-stream:host/*",),
            reason="a host writes the result of its start, only to streams of hosts",
        ),
        Permission(
            sid="BootSignal",
            actions=("cloudformation:SignalResource",),
            resources=(stack_id,),
            reason="a host that cannot join fails the deployment immediately",
        ),
    )


def session_permissions() -> tuple[Permission, ...]:
    """Return Session Manager's permissions, for shells on a host."""
    return (
        Permission(
            sid="SessionsInformation",
            actions=("ssm:UpdateInstanceInformation",),
            resources=("*",),
            reason="the Session Manager agent reports its host; the action supports no resource of a new host",
        ),
        sessions(),
    )


def host_permissions(
    place: Place, *, cluster_name: str, log_group_arn: str, stack_id: str, model: Sequence[Permission]
) -> tuple[Permission, ...]:
    """Return all statements of a host; `model`: those that read the model."""
    return (
        *agent_permissions(place, cluster_name=cluster_name),
        *boot_permissions(log_group_arn=log_group_arn, stack_id=stack_id),
        *session_permissions(),
        *model,
    )


def host_security_group(scope: Construct, id: str, vpc: ec2.IVpc) -> ec2.ISecurityGroup:
    """Return a group without ingress, with HTTPS egress to ECS, S3, registries and package repositories."""
    return HttpsOutSecurityGroup(
        scope,
        id,
        vpc=vpc,
        description="Hosts of an inference service: nothing in, HTTPS out",
        reaches="AWS services, image registries, package repositories",
    )
