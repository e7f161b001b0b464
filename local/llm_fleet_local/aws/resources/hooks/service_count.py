"""ECS services: CloudFormation does not change the number of tasks if the template does not set it.

"For existing services, if a desired count is not specified, it is omitted from the operation"; a new service gets one
task (template reference, AWS::ECS::Service).

Source: model CloudFormation AWS::ECS::Service
"""

from typing import Any

from llm_fleet_local.aws.resources.situation import Situation, Stage

_COUNT = "DesiredCount"


def prepare(at: Situation, properties: dict[str, Any]) -> dict[str, Any]:
    """Set one task for a new service; in an update, ignore a number that was removed."""
    if at.stage is Stage.CREATE and properties.get("SchedulingStrategy", "REPLICA") == "REPLICA":
        return {_COUNT: 1} | properties
    if at.stage is Stage.UPDATE and _COUNT not in at.props:
        return {name: value for name, value in properties.items() if name != _COUNT}
    return properties
