"""Task definitions: names of containers and volumes in a definition must exist.

Source: model CloudFormation AWS::ECS::TaskDefinition
Source: assumption ecs-task-definition-refusals
"""

from typing import Any

from llm_fleet_local.aws.resource_provider import ResourceFailed
from llm_fleet_local.aws.resources.situation import Situation, Stage


def prepare(at: Situation, properties: dict[str, Any]) -> dict[str, Any]:
    """Reject names of missing containers or volumes: registration accepts them, and each task fails to start."""
    if at.stage is Stage.DELETE or properties is not at.props:
        return properties
    containers: list[dict[str, Any]] = properties.get("ContainerDefinitions", [])
    names = [str(one.get("Name")) for one in containers]
    volumes = [str(one.get("Name")) for one in properties.get("Volumes", [])]
    problems = [f"container {name} is defined twice" for name in sorted({one for one in names if names.count(one) > 1})]
    for one in containers:
        problems += [
            f"{one['Name']} depends on {needed['ContainerName']}, which is not a container of this task"
            for needed in one.get("DependsOn", ())
            if needed["ContainerName"] not in names
        ]
        problems += [
            f"{one['Name']} mounts {mount['SourceVolume']}, which is not a volume of this task"
            for mount in one.get("MountPoints", ())
            if mount.get("SourceVolume") not in volumes
        ]
    if problems:
        raise ResourceFailed(f"{at.spec.type}: {'; '.join(problems)}")
    return properties
