"""ECS task definitions: limits of launch types, dependencies between containers, and existing roles.

moto accepts every definition with a name, an image and memory. It treats every definition that is not for EC2 as a
definition for Fargate, with Fargate's network mode.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from moto.ecs.exceptions import EcsClientException
from moto.ecs.models import TaskDefinition
from moto.ecs.responses import EC2ContainerServiceResponse
from moto.iam.models import iam_backends

from llm_fleet_local.aws.resources.moto_fixes.kept_members import before, keep_members, once

_AFTER_THE_END = ("COMPLETE", "SUCCESS")
_MANAGED = "MANAGED_INSTANCES"
_NOT_MANAGED = {
    "task": ("ephemeralStorage", "inferenceAccelerators", "ipcMode", "proxyConfiguration"),
    "volume": ("dockerVolumeConfiguration", "fsxWindowsFileServerVolumeConfiguration"),
    "container": (
        "disableNetworking", "dnsSearchDomains", "dnsServers", "dockerLabels", "dockerSecurityOptions", "extraHosts",
        "hostname", "links",
    ),
    "linuxParameters": ("maxSwap", "sharedMemorySize", "swappiness", "tmpfs"),
}  # fmt: skip
"""Source: document https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-tasks-services.html
(2026-11)
"""
_PARTITION = "aws"
_LONGEST_STOP = 86400


def install() -> None:
    """Validate registrations, and keep the settings that moto drops."""
    if not once(TaskDefinition, "rules"):
        return
    names = ("enableFaultInjection", "networkMode", "compatibilities")
    keep_members(EC2ContainerServiceResponse, "register_task_definition", names, _registered)
    before(EC2ContainerServiceResponse, "register_task_definition", _check)


def _check(response: Any, given: dict[str, Any]) -> None:
    """Complete a registration, and reject it for the errors that the functions below return.

    Source: assumption service-error-texts
    """
    wanted: list[str] = given.get("requiresCompatibilities") or ["EC2"]
    given["compatibilities"] = list(wanted)
    given.setdefault("networkMode", "awsvpc" if _MANAGED in wanted or "FARGATE" in wanted else "bridge")
    problems = [*_roles(given, response.current_account), *_task(given, wanted), *_dependencies(given)]
    if problems:
        raise EcsClientException("; ".join(problems))


def _registered(response: Any, given: Mapping[str, Any]) -> Any:
    return response.ecs_backend.describe_task_definition(given["family"])


def _roles(given: Mapping[str, Any], account: str) -> Iterator[str]:
    """Return an error for each missing role.

    Source: assumption ecs-task-definition-refusals
    """
    roles = {role.arn for role in iam_backends[account][_PARTITION].roles.values()}
    for name in ("taskRoleArn", "executionRoleArn"):
        if name in given and given[name] not in roles:
            yield f"Role is not valid: {name} {given[name]} does not exist"
    secrets = [one["name"] for one in given["containerDefinitions"] if one.get("secrets")]
    if secrets and "executionRoleArn" not in given:
        yield f"When you are specifying container secrets, you must also specify 'executionRoleArn': {secrets}"


def _task(given: Mapping[str, Any], wanted: list[str]) -> Iterator[str]:
    """Return the errors of the task as a whole.

    Source: model botocore ecs ContainerDefinition (essential, memory)
    Source: model botocore ecs ResourceRequirement (value)
    Source: assumption ecs-task-definition-refusals
    """
    containers: list[dict[str, Any]] = given["containerDefinitions"]
    if not any(one.get("essential", True) for one in containers):
        # Source: recorded eagletmt/hako#68, text of the error (2018-12-12)
        yield "Task definition doesn't have any essential container."
    if {_MANAGED, "FARGATE"} & set(wanted) and given["networkMode"] not in ("awsvpc", "host"):
        yield f"Network mode '{given['networkMode']}' is not supported for {', '.join(wanted)}"
    if _MANAGED in wanted:
        yield from _managed(given, containers)
    neuron = [(one, need) for one in containers for need in one.get("resourceRequirements", ())]
    neuron = [(one, need) for one, need in neuron if need["type"] == "NeuronDevice"]
    if neuron and wanted != [_MANAGED]:
        yield f"Resource requirement NeuronDevice is supported only for {_MANAGED}, not for {', '.join(wanted)}"
    if len(neuron) > 1:
        yield "Only one container of a task can specify NeuronDevice resources"
    if any(need.get("value") != "ALL" for _, need in neuron):
        yield "The value of resource requirement NeuronDevice must be ALL"
    memory = sum(int(one.get("memory") or one.get("memoryReservation") or 0) for one in containers)
    if given.get("memory") and str(given["memory"]).isdigit() and memory > int(given["memory"]):
        # Source: recorded pulumi/pulumi-awsx#1220, text of the error for one container (2024-02-13)
        yield f"The 'memory' setting for the containers ({memory}) is greater than for the task ({given['memory']})."


def _managed(given: Mapping[str, Any], containers: list[dict[str, Any]]) -> Iterator[str]:
    """Return parameters that the developer guide lists as not valid for Managed Instances, and too long stop timeouts.

    Source: document https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-tasks-services.html
    (2026-11)
    Source: document
    https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_definition_parameters-managed-instances.html
    (2026-11): stopTimeout, "The maximum value is 86400 seconds (24 hours)"
    """
    volumes = given.get("volumes", [])
    found = [name for name in _NOT_MANAGED["task"] if given.get(name)]
    found += [name for one in volumes for name in _NOT_MANAGED["volume"] if one.get(name)]
    found += ["sourcePath" for one in volumes if one.get("host", {}).get("sourcePath")]
    for one in containers:
        found += [name for name in _NOT_MANAGED["container"] if one.get(name)]
        found += [name for name in _NOT_MANAGED["linuxParameters"] if one.get("linuxParameters", {}).get(name)]
    if found:
        yield f"The following parameters are not valid for {_MANAGED}: {', '.join(sorted(set(found)))}"
    if any(one.get("stopTimeout", 0) > _LONGEST_STOP for one in containers):
        yield f"stopTimeout must be at most {_LONGEST_STOP} seconds for {_MANAGED}"


def _dependencies(given: Mapping[str, Any]) -> Iterator[str]:
    """Return an error for each dependency between containers that can never be met.

    Source: model botocore ecs ContainerDependency (condition)
    Source: assumption ecs-task-definition-refusals
    """
    containers: dict[str, dict[str, Any]] = {one["name"]: one for one in given["containerDefinitions"]}
    for name, container in containers.items():
        for need in container.get("dependsOn", ()):
            target = containers.get(need["containerName"])
            if target is None:
                yield f"{name} depends on {need['containerName']}, which is not a container of this task"
            elif need["condition"] in _AFTER_THE_END and target.get("essential", True):
                yield f"{name}: condition {need['condition']} cannot be set on the essential container {target['name']}"
            elif need["condition"] == "HEALTHY" and "healthCheck" not in target:
                yield f"{name}: condition HEALTHY requires a health check of {target['name']}"
