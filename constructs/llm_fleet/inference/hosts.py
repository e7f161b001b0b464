"""The hosts of a service: their group, launch template, user data, role and security group.

What they may do is in place of AmazonEC2ContainerServiceforEC2Role, which lets a host write every log group of the
account, pull every image and join every cluster. Which actions know resources is from AWS's service authorization
reference.
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
"""While hosts are replaced nothing else may start or stop any; the list is CloudFormation's own advice."""


class HostGroup(Construct):
    """Hosts that signal to CloudFormation how their start went, and are replaced one by one when it changes.

    The group is empty at first, and ECS's managed scaling decides how many hosts there are. A host that registers
    before the capacity provider is associated with its cluster may not belong to it, and then gets no task of the
    service; so AWS advises to create the group empty (ECS developer guide, Auto Scaling group capacity providers).
    assumption: ecs-hosts-before-their-provider-are-not-used
    """

    def __init__(
        self, scope: Construct, id: str, *, tasks: TaskCount, subnets: Sequence[ec2.ISubnet], name: str
    ) -> None:
        """Make the group without a template: `starts_from` gives it one.

        The template's user data names this group's logical id, so that hosts can signal to it.
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
            # ECS asks for this tag on groups that it scales, and would add it by itself.
            tags=[
                autoscaling.CfnAutoScalingGroup.TagPropertyProperty(
                    key="AmazonECSManaged", value="", propagate_at_launch=True
                ),
                autoscaling.CfnAutoScalingGroup.TagPropertyProperty(key="Name", value=name, propagate_at_launch=False),
            ],
        )
        """The L1 itself."""
        self._replace_one_by_one(tasks.minimum)
        acknowledge(
            self,
            "hosts that are refused are told in the log group and by an alarm on it; that hosts come and go is "
            "what scaling means",
            "AwsSolutions-AS3",
        )

    def starts_from(self, template: ec2.CfnLaunchTemplate) -> None:
        """Start hosts from the newest version of `template`."""
        self.resource.launch_template = autoscaling.CfnAutoScalingGroup.LaunchTemplateSpecificationProperty(
            launch_template_id=template.ref, version=template.attr_latest_version_number
        )

    def _replace_one_by_one(self, least: int) -> None:
        options = self.resource.cfn_options
        timeout = f"PT{host_facts().boot_minutes}M"
        options.update_policy = cdk.CfnUpdatePolicy(
            auto_scaling_rolling_update=cdk.CfnAutoScalingRollingUpdate(
                max_batch_size=1,
                # One goes before its successor comes: a host more than the maximum may not be had at all.
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
    """Return `number` as CloudFormation takes sizes of groups."""
    return cdk.Token.as_string(number) if is_unresolved(number) else str(number)


_HOP_LIMIT = 1
"""The host's own programs and the agent, which shares the host's network, are one hop from the metadata; a task is
not the host, and must not have its credentials."""


class HostLaunchTemplate(Construct):
    """A launch template for hosts: metadata by IMDSv2 only, an encrypted gp3, no key pair, no public address."""

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
        """Make it. `user_data` is plain text; `name` is the tag by which people find hosts."""
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
        """The L1 itself."""


def image_id(ami: str | None, driver_version: str) -> str:
    """Return the AMI's id, or a reference to the public parameter of one release, which never changes."""
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

    `signal_resources`: logical ids of what waits for the hosts' signals: the auto scaling group while it replaces
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
    """Return the user data that hands `settings` to a host; they may hold tokens.

    EC2 takes 16 KiB of it. The rule of a model's prefix (LF710) keeps it below that.
    """
    return (
        _script()
        .replace("@FILES@", packed_files())
        .replace("@SETTINGS@", cdk.Stack.of(scope).to_json_string(settings, 1))
    )


def packed_files() -> str:
    """Return the files of a host, packed: what EC2 takes would not hold them as they are."""
    files = {file.path: file.data for file in read_folder(_folder()) if file.path != _SCRIPT}
    return packed(files, encode=base64.b85encode)


def _script() -> str:
    """Return the script without its comments, for which EC2's 16 KiB have no room."""
    first, *lines = (_folder() / _SCRIPT).read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join([first, *(line for line in lines if not line.startswith("#"))])


def _folder() -> Path:
    return default_folder() / _FOLDER


class HostRole(ServiceRole):
    """A role for EC2 instances with statements of its own, and its instance profile."""

    def __init__(self, scope: Construct, id: str, *, permissions: Sequence[Permission], description: str) -> None:
        """Make the role. Raises `FleetError` when the statements are longer than IAM takes."""
        raise_problems(policy_size(characters_of(permissions)), subject=f"{scope.node.path}/{id}")
        super().__init__(scope, id, service="ec2.amazonaws.com", description=description, permissions=permissions)
        self.profile = iam.CfnInstanceProfile(self, "Profile", roles=[self.role.role_name])
        """What EC2 hands to an instance."""


def agent_permissions(place: Place, *, cluster_name: str) -> tuple[Permission, ...]:
    """Return what the ECS agent needs to join this one cluster and to tell of its tasks.

    No image is pulled with it: that is the task's execution role's.
    """
    cluster = place.arn("ecs", f"cluster/{cluster_name}")
    return (
        Permission(
            sid="AgentEndpoint",
            actions=("ecs:DiscoverPollEndpoint",),
            resources=("*",),
            reason="the agent asks where it should connect to; the action knows no resource",
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
            reason="the agent registers its host with this cluster, and tells what becomes of its tasks",
        ),
        Permission(
            sid="AgentInstance",
            actions=("ecs:Poll", "ecs:StartTelemetrySession"),
            resources=(place.arn("ecs", f"container-instance/{cluster_name}/*"),),
            conditions={"ArnEquals": {"ecs:cluster": cluster}},
            reason="the agent is told its tasks, and sends their metrics; ECS makes up the id when a host registers",
        ),
    )


def boot_permissions(*, log_group_arn: str, stack_id: str) -> tuple[Permission, ...]:
    """Return what a host needs to tell how its start went. `log_group_arn` has no `:*` at its end."""
    return (
        Permission(
            sid="BootStream",
            actions=("logs:CreateLogStream",),
            resources=(f"{log_group_arn}:*",),
            reason="a host makes the stream that is named after its id; IAM knows this action by its group",
        ),
        Permission(
            sid="BootLog",
            actions=("logs:PutLogEvents",),
            resources=(f"{log_group_arn}:log-stream:host/*",),
            reason="a host writes how its start went, and into nobody else's stream",
        ),
        Permission(
            sid="BootSignal",
            actions=("cloudformation:SignalResource",),
            resources=(stack_id,),
            reason="a host that may not join fails the deployment at once; nobody waits for it",
        ),
    )


def session_permissions() -> tuple[Permission, ...]:
    """Return what the Session Manager needs, which is the way onto a host."""
    return (
        Permission(
            sid="SessionsInformation",
            actions=("ssm:UpdateInstanceInformation",),
            resources=("*",),
            reason="the agent of the Session Manager reports its host; the action knows no resource of a new host",
        ),
        sessions(),
    )


def host_permissions(
    place: Place, *, cluster_name: str, log_group_arn: str, stack_id: str, model: Sequence[Permission]
) -> tuple[Permission, ...]:
    """Return every statement of a host; `model` are those that read the model."""
    return (
        *agent_permissions(place, cluster_name=cluster_name),
        *boot_permissions(log_group_arn=log_group_arn, stack_id=stack_id),
        *session_permissions(),
        *model,
    )


def host_security_group(scope: Construct, id: str, vpc: ec2.IVpc) -> ec2.ISecurityGroup:
    """Return a group that lets nothing in, and HTTPS out: to ECS, S3, the registries and the package repositories."""
    return HttpsOutSecurityGroup(
        scope,
        id,
        vpc=vpc,
        description="Hosts of an inference service: nothing in, HTTPS out",
        reaches="services of AWS, image registries, package repositories",
    )
