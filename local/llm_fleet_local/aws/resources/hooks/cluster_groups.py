"""HyperPod clusters: which instance groups an update has to delete by name.

Source: model botocore sagemaker UpdateClusterRequest
"""

from typing import Any

from llm_fleet_local.aws.resources.situation import Situation, Stage


def prepare(at: Situation, properties: dict[str, Any]) -> dict[str, Any]:
    """Set `extra.groups_to_delete`, because `UpdateCluster` keeps groups that are missing in its list."""
    if at.stage is Stage.UPDATE:
        kinds = ("InstanceGroups", "RestrictedInstanceGroups")
        wanted = {group["InstanceGroupName"] for kind in kinds for group in at.props.get(kind, ())}
        had = [group["InstanceGroupName"] for kind in kinds for group in at.old.get(kind, ())]
        at.extra["groups_to_delete"] = [name for name in had if name not in wanted] or None
    return properties
