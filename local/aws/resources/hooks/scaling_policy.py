"""Scaling policies: a target may be named by its id, which is the three names that the API wants.

Source: model CloudFormation AWS::ApplicationAutoScaling::ScalingPolicy
"""

from typing import Any

from local.aws.resources.situation import Situation

_NAMES = ("ResourceId", "ScalableDimension", "ServiceNamespace")


def prepare(at: Situation, properties: dict[str, Any]) -> dict[str, Any]:
    """Write `ScalingTargetId` (`service/c/s|ecs:service:DesiredCount|ecs`) out."""
    target = properties.get("ScalingTargetId")
    if target is None:
        return properties
    rest = {name: value for name, value in properties.items() if name != "ScalingTargetId"}
    return rest | dict(zip(_NAMES, str(target).split("|"), strict=True))
