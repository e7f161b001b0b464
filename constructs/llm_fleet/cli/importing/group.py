"""Turns one instance group of a request into one of a fleet file."""

from collections.abc import Mapping
from typing import Any

from llm_fleet.catalog.instances import instances
from llm_fleet.cli.importing.notes import Notes
from llm_fleet.cli.importing.updates import auto_patch, rolling
from llm_fleet.rules.terms import DeepHealthCheck
from llm_fleet.spec.instance_group import SlurmRole

_PLAIN = {
    "MinInstanceCount": "min_count",
    "ThreadsPerCore": "threads_per_core",
    "TrainingPlanArn": "training_plan",
    "ImageId": "image",
}
_NOT_CARRIED = {
    "KubernetesConfig": "labels and taints are for EKS",
    "ImageReleaseVersion": "CloudFormation cannot set it; use `aws sagemaker update-cluster-software`",
}


def translate_group(group: Mapping[str, Any], role: SlurmRole, notes: Notes) -> dict[str, Any]:
    """Return the group's keys in the order in which a reader wants them."""
    name = str(group["InstanceGroupName"])
    told: dict[str, Any] = {"role": role.value}
    if "InstanceType" in group:
        told["type"] = _type(str(group["InstanceType"]), name, notes)
    if "InstanceRequirements" in group:
        told["types"] = [_type(t, name, notes) for t in group["InstanceRequirements"].get("InstanceTypes", [])]
    if "InstanceCount" in group:
        told["count"] = group["InstanceCount"]
    partitions = group.get("SlurmConfig", {}).get("PartitionNames", [])
    if partitions:
        told["partition"] = partitions[0]
        for more in partitions[1:]:
            notes.left_out(f"partition {more} of {name}: HyperPod takes one for each group")
    elif role is SlurmRole.COMPUTE:
        told["partition"] = name
        notes.chosen(f"{name} gets a Slurm partition of its own name: the request has none")
    told |= {key: group[member] for member, key in _PLAIN.items() if member in group}
    told |= _rest(group, name, notes)
    return told


def _rest(group: Mapping[str, Any], name: str, notes: Notes) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if "Spot" in group.get("CapacityRequirements", {}):
        told["spot"] = True
    if "NetworkInterface" in group:
        told["network_interface"] = group["NetworkInterface"].get("InterfaceType")
    if "OnStartDeepHealthChecks" in group:
        told["deep_health_checks"] = _health_checks(group["OnStartDeepHealthChecks"], name, notes)
    if "OverrideVpcConfig" in group:
        told["subnets"] = group["OverrideVpcConfig"].get("Subnets", [])
        told["security_groups"] = group["OverrideVpcConfig"].get("SecurityGroupIds", [])
    if "ScheduledUpdateConfig" in group:
        update = group["ScheduledUpdateConfig"]
        told["schedule"] = {"cron": update.get("ScheduleExpression", ""), **rolling(update)}
    if "AutoPatchConfig" in group:
        told["auto_patch"] = auto_patch(group["AutoPatchConfig"], name, notes)
    for member, reason in _NOT_CARRIED.items():
        if member in group:
            notes.left_out(f"{member} of {name}: {reason}")
    return {key: value for key, value in told.items() if value not in (None, [], {})}


def _type(name: str, group: str, notes: Notes) -> str:
    prefixed = f"ml.{name}"
    if name not in instances() and prefixed in instances():
        notes.mended(f"the instance type of {group}, {name}, is {prefixed} in SageMaker")
        return prefixed
    return name


def _health_checks(checks: list[str], name: str, notes: Notes) -> list[str]:
    api_only = DeepHealthCheck.MULTI_NODE_TRAINING_VALIDATION.value
    if api_only in checks:
        instead = "use `aws sagemaker start-cluster-health-check`"
        notes.left_out(f"{api_only} of {name}: CloudFormation cannot set it; {instead}")
    return [check for check in checks if check != api_only]
