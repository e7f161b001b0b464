"""Auto scaling groups: every setting is kept, incomplete launch templates are rejected, hosts are in their subnets.

moto drops the instance lifetime, warm-up, maintenance policy and lifecycle hooks of a group, starts all instances in
its first subnet, and ignores the security groups of the template's network interfaces.

Source: model botocore autoscaling CreateAutoScalingGroup
"""

from typing import Any

from moto.autoscaling.exceptions import AutoscalingClientError, ValidationError
from moto.autoscaling.models import FakeAutoScalingGroup, LifecycleHook
from moto.autoscaling.responses import AutoScalingResponse
from moto.ec2.exceptions import EC2ClientError

from llm_fleet_local.aws.resources.moto_fixes.ecs_container_instances import register_host
from llm_fleet_local.aws.resources.moto_fixes.kept_members import after, before, keep_members, once

_KEPT = (
    "CapacityReservationSpecification",
    "Context",
    "DefaultCooldown",
    "DefaultInstanceWarmup",
    "DesiredCapacityType",
    "InstanceMaintenancePolicy",
    "MaxInstanceLifetime",
    "AvailabilityZoneDistribution",
    "AvailabilityZoneImpairmentPolicy",
    "DeletionProtection",
    "TerminationPolicies",
)
_METRICS = (
    "GroupMinSize",
    "GroupMaxSize",
    "GroupDesiredCapacity",
    "GroupInServiceInstances",
    "GroupPendingInstances",
    "GroupStandbyInstances",
    "GroupTerminatingInstances",
    "GroupTotalInstances",
)
_HOOK = ("NotificationTargetARN", "RoleARN", "NotificationMetadata")


def install() -> None:
    """Validate groups and keep their settings."""
    if not once(FakeAutoScalingGroup, "settings"):
        return
    for method in ("create_auto_scaling_group", "update_auto_scaling_group"):
        keep_members(AutoScalingResponse, method, _KEPT, _group)
        before(AutoScalingResponse, method, _check)
    after(AutoScalingResponse, "create_auto_scaling_group", _add_hooks)
    before(AutoScalingResponse, "delete_auto_scaling_group", _check_deletion)
    after(AutoScalingResponse, "enable_metrics_collection", _all_metrics)
    before(AutoScalingResponse, "put_lifecycle_hook", _check_hook)
    keep_members(AutoScalingResponse, "put_lifecycle_hook", _HOOK, _hook)
    moto_does: Any = FakeAutoScalingGroup.replace_autoscaling_group_instances
    FakeAutoScalingGroup.replace_autoscaling_group_instances = _spread(moto_does)


def _group(response: Any, given: Any) -> Any:
    return response.autoscaling_backend.autoscaling_groups[given["AutoScalingGroupName"]]


def _check(response: Any, given: dict[str, Any]) -> None:
    least, most = int(given.get("MinSize", 0)), int(given.get("MaxSize", 1 << 30))
    wanted = int(given.get("DesiredCapacity", least))
    if not least <= wanted <= most:
        # Source: model botocore autoscaling CreateAutoScalingGroupType (DesiredCapacity)
        # Source: recorded banzaicloud/pipeline#3017, text of the error (2020-07-17)
        raise ValidationError(
            f"Desired capacity:{wanted} must be between the specified min size:{least} and max size:{most}"
        )
    template = given.get("LaunchTemplate")
    if not template:
        return
    backend = response.autoscaling_backend.ec2_backend
    # Source: assumption autoscaling-checks-launch-templates
    try:
        found = (
            backend.get_launch_template(template["LaunchTemplateId"])
            if "LaunchTemplateId" in template
            else backend.get_launch_template_by_name(template["LaunchTemplateName"])
        )
        version = found.get_version(template.get("Version", "$Default"))
    except (EC2ClientError, ValueError) as error:
        raise ValidationError(
            f"You must use a valid fully-formed launch template. The specified launch template {template} does not "
            "exist, or not in that version."
        ) from error
    # Source: assumption autoscaling-checks-launch-templates
    missing = [name for name in ("ImageId", "InstanceType") if name not in version.data]
    if missing:
        raise ValidationError(f"You must use a valid fully-formed launch template. It lacks {', '.join(missing)}")
    if version.data.get("NetworkInterfaces") and version.data.get("SecurityGroupIds"):
        # Source: model botocore ec2 RequestLaunchTemplateData (SecurityGroupIds)
        # Source: recorded traveloka/terraform-aws-autoscaling#38, text of the error (2020-06-30)
        raise AutoscalingClientError(
            "InvalidQueryParameter",
            "Invalid launch template: When a network interface is provided, the security groups must be a part of it.",
        )


def _add_hooks(response: Any, given: dict[str, Any]) -> None:
    for hook in given.get("LifecycleHookSpecificationList", []):
        made = response.autoscaling_backend.create_lifecycle_hook(
            name=hook["LifecycleHookName"],
            as_name=given["AutoScalingGroupName"],
            transition=hook["LifecycleTransition"],
            timeout=hook.get("HeartbeatTimeout"),
            result=hook.get("DefaultResult"),
        )
        for name in _HOOK:
            if name in hook:
                setattr(made, name, hook[name])


def _all_metrics(response: Any, given: dict[str, Any]) -> None:
    """Without names, all metrics are meant; moto enables none."""
    if not given.get("Metrics"):
        _group(response, given).metrics = list(_METRICS)


def _check_hook(response: Any, given: dict[str, Any]) -> None:
    if given["AutoScalingGroupName"] not in response.autoscaling_backend.autoscaling_groups:
        # Source: model botocore autoscaling PutLifecycleHookType (AutoScalingGroupName)
        # Source: assumption service-error-texts
        raise ValidationError(f"AutoScalingGroup name not found - null: {given['AutoScalingGroupName']}")


def _hook(response: Any, given: Any) -> LifecycleHook:
    names = [given["LifecycleHookName"]]
    (found,) = response.autoscaling_backend.describe_lifecycle_hooks(given["AutoScalingGroupName"], names)
    return found


def _check_deletion(response: Any, given: dict[str, Any]) -> None:
    group = response.autoscaling_backend.autoscaling_groups.get(given["AutoScalingGroupName"])
    if group is None:
        return
    protection = getattr(group, "DeletionProtection", "none")
    # Source: model botocore autoscaling CreateAutoScalingGroupType (DeletionProtection)
    # Source: assumption service-error-texts
    if protection == "prevent-all-deletion" or (protection == "prevent-force-deletion" and given.get("ForceDelete")):
        raise AutoscalingClientError(
            "ResourceInUse", f"AutoScalingGroup {group.name} has deletion protection {protection}"
        )
    # Source: model botocore autoscaling DeleteAutoScalingGroup
    # Source: recorded ansible/ansible#8503, text of the error (2014-08-07)
    if group.instance_states and not given.get("ForceDelete"):
        raise AutoscalingClientError(
            "ResourceInUse",
            "You cannot delete an AutoScalingGroup while there are instances or pending Spot instance request(s) "
            "still in the group.",
        )
    for state in group.instance_states:  # forced deletion ignores protection from scale-in
        state.protected_from_scale_in = False


def _set_security_groups(group: Any) -> None:
    """Set the security groups of the template on the newest instance's interface."""
    if group.ec2_launch_template is None:
        return
    data: dict[str, Any] = group.ec2_launch_template.get_version(group.launch_template_version).data
    interfaces: list[dict[str, Any]] = data.get("NetworkInterfaces", [])
    groups = [one for interface in interfaces for one in interface.get("Groups", ())]
    for interface in group.instance_states[-1].instance.nics.values() if groups else ():
        interface._group_set = [group.ec2_backend.get_security_group_from_id(one) for one in groups]


def _spread(as_moto_does: Any) -> Any:
    """Start the instances of a group in its subnets in turn, because Auto Scaling balances its AZs."""

    def replace_autoscaling_group_instances(self: Any, count_needed: int, propagated_tags: dict[str, str]) -> None:
        whole: str | None = self.vpc_zone_identifier
        subnets = (whole or "").split(",")
        try:
            for _ in range(count_needed):
                self.vpc_zone_identifier = subnets[len(self.instance_states) % len(subnets)] or None
                as_moto_does(self, 1, propagated_tags)
                _set_security_groups(self)
                register_host(self, self.instance_states[-1].instance)
        finally:
            self.vpc_zone_identifier = whole

    return replace_autoscaling_group_instances
