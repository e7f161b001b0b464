"""Scaling policies: a target can be given by its id, which contains the three names that the API requires.

Source: model CloudFormation AWS::ApplicationAutoScaling::ScalingPolicy
"""

from typing import Any

from llm_fleet_local.aws.resources.situation import Situation

_NAMES = ("ResourceId", "ScalableDimension", "ServiceNamespace")


def prepare(at: Situation, properties: dict[str, Any]) -> dict[str, Any]:
    """Split `ScalingTargetId` (`service/c/s|ecs:service:DesiredCount|ecs`) into these."""
    target = properties.get("ScalingTargetId")
    if target is None:
        return properties
    rest = {name: value for name, value in properties.items() if name != "ScalingTargetId"}
    return rest | dict(zip(_NAMES, str(target).split("|"), strict=True))
