"""Auto Scaling groups: subnets as one string, and the stack's tags, which CloudFormation propagates to instances.

Source: model CloudFormation AWS::AutoScaling::AutoScalingGroup
"""

from typing import Any

from llm_fleet_local.aws.resources.settings import own_tags
from llm_fleet_local.aws.resources.situation import Situation


def prepare(at: Situation, properties: dict[str, Any]) -> dict[str, Any]:
    """Join the subnets, and add the stack's tags; the group's own tags override them."""
    old = properties is at.old and at.request.old_tags is not None
    stack = own_tags(at.request.old_tags or {} if old else at.request.tags)
    given: list[dict[str, Any]] = properties.get("Tags", [])
    names = {tag["Key"] for tag in given}
    inherited = [
        {"Key": key, "Value": value, "PropagateAtLaunch": True} for key, value in stack.items() if key not in names
    ]
    subnets: list[str] = properties.get("VPCZoneIdentifier", [])
    at.extra["subnets"] = subnets
    together = {"VPCZoneIdentifier": ",".join(subnets)} if subnets else {}
    return properties | together | {"Tags": [*inherited, *given]}
