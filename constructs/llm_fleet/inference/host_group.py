"""The auto scaling group of a service's hosts."""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.neuron import host_facts
from llm_fleet.rules.tokens import is_unresolved
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
