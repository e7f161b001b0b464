"""A HyperPod cluster as the service returns it: groups, nodes and their network interfaces.

Source: model botocore sagemaker DescribeCluster
Source: model botocore sagemaker UpdateCluster
"""

import datetime
import secrets
import string
import time
from typing import Any

from llm_fleet_local.aws.resources.moto_fixes.json_api import known_members
from llm_fleet_local.aws.resources.moto_fixes.network_rules import NetworkOf

_ID_LENGTH = 12  # the ARN pattern of botocore's model: cluster/[a-z0-9]{12}
_GROUPS = ("InstanceGroups", "RestrictedInstanceGroups")
_DETAILS = {
    "InstanceGroups": "ClusterInstanceGroupDetails",
    "RestrictedInstanceGroups": "ClusterRestrictedInstanceGroupDetails",
}
_NAMED_OTHERWISE = {
    "MinInstanceCount": ("MinCount",),
    "ImageId": ("CurrentImageId", "DesiredImageId"),
    "ImageReleaseVersion": ("CurrentImageReleaseVersion", "DesiredImageReleaseVersion"),
}


class ClusterRecord:
    """One cluster. moto's own operations use `tags`, `arn`, `cluster_name` and `summary`."""

    def __init__(self, params: dict[str, Any], region: str, account: str) -> None:
        """Create the cluster of a `CreateCluster` request."""
        self._network = NetworkOf(account, region)
        self._region = region
        self.cluster_name = str(params["ClusterName"])
        letters = string.ascii_lowercase + string.digits
        self.cluster_id = "".join(secrets.choice(letters) for _ in range(_ID_LENGTH))
        self.arn = f"arn:aws:sagemaker:{region}:{account}:cluster/{self.cluster_id}"
        self.creation_time = datetime.datetime.now(datetime.UTC)
        self.tags: list[dict[str, str]] = params.get("Tags", [])
        self.requested = {name: value for name, value in params.items() if name not in ("Tags", "ClusterName")}
        self.nodes: dict[str, dict[str, Any]] = {}
        self._interfaces: dict[str, str] = {}
        self._bring_up()

    def after(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the state that an `UpdateCluster` requests: groups are merged by name, other members replaced."""
        going = set(params.get("InstanceGroupsToDelete", ()))
        requested = {**self.requested}
        for name, value in params.items():
            if name in _GROUPS:
                given = {group["InstanceGroupName"]: group for group in value}
                kept = [given.pop(old["InstanceGroupName"], old) for old in requested.get(name, [])]
                requested[name] = kept + list(given.values())
            elif name not in ("ClusterName", "InstanceGroupsToDelete"):
                requested[name] = value
        for kind in _GROUPS:
            if kind in requested:
                requested[kind] = [one for one in requested[kind] if one["InstanceGroupName"] not in going]
        return requested

    def update(self, requested: dict[str, Any]) -> None:
        """Set the requested state; nodes are added and removed to match the counts."""
        self.requested = requested
        self._bring_up()

    def take_down(self) -> None:
        """Release the nodes and their network interfaces."""
        self._network.detach(list(self._interfaces.values()))
        self.nodes.clear()

    @property
    def groups(self) -> list[dict[str, Any]]:
        """Every instance group as requested."""
        return [group for kind in _GROUPS for group in self.requested.get(kind, [])]

    def describe(self) -> dict[str, Any]:
        """Return the response of `DescribeCluster`."""
        described = known_members("sagemaker", "DescribeClusterResponse", self.requested)
        for kind in _GROUPS:
            if kind in self.requested:
                described[kind] = [self._group(kind, group) for group in self.requested[kind]]
        return self.summary() | {"CreationTime": self.creation_time.timestamp(), "FailureMessage": ""} | described

    def summary(self) -> dict[str, Any]:
        """Return the cluster's entry in `ListClusters`."""
        return {
            "ClusterArn": self.arn,
            "ClusterName": self.cluster_name,
            "CreationTime": self.creation_time,
            "ClusterStatus": "InService",
        }

    def _group(self, kind: str, group: dict[str, Any]) -> dict[str, Any]:
        described = dict(group)
        for name, others in _NAMED_OTHERWISE.items():
            described |= dict.fromkeys(others, group[name]) if name in group else {}
        described |= {
            "CurrentCount": len(self._nodes_of(group)),
            "TargetCount": group["InstanceCount"],
            "Status": "InService",
        }
        return known_members("sagemaker", _DETAILS[kind], described)

    def _nodes_of(self, group: dict[str, Any]) -> list[str]:
        return [one for one, node in self.nodes.items() if node["InstanceGroupName"] == group["InstanceGroupName"]]

    def _bring_up(self) -> None:
        """Set the number of nodes of each group; the newest are removed first, and nodes keep their storage.

        "Existing nodes retain their original storage configuration" is about FSx; volumes do the same here.

        Source: document
        https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-slurm-api-config-migration.html (2026-11)
        Source: assumption hyperpod-changes-groups-in-place
        """
        wanted = {group["InstanceGroupName"]: int(group["InstanceCount"]) for group in self.groups}
        for instance_id, node in list(self.nodes.items()):
            if node["InstanceGroupName"] not in wanted:
                self._remove(instance_id)
        for group in self.groups:
            nodes = self._nodes_of(group)
            for instance_id in nodes[wanted[group["InstanceGroupName"]] :]:
                self._remove(instance_id)
            for instance_id in self._nodes_of(group):
                settings = self._node_settings(group)
                settings.pop("InstanceStorageConfigs", None)
                self.nodes[instance_id] |= settings
            for _ in range(wanted[group["InstanceGroupName"]] - len(nodes)):
                self._add(group)

    def _add(self, group: dict[str, Any]) -> None:
        instance_id = f"i-0{secrets.token_hex(8)}"
        node = self._node_settings(group) | {
            "InstanceId": instance_id,
            "InstanceStatus": {"Status": "Running"},
            "LaunchTime": time.time(),
        }
        if self.requested.get("NodeProvisioningMode") == "Continuous":
            node["NodeLogicalId"] = f"{group['InstanceGroupName']}-{secrets.token_hex(4)}"
        vpc = group.get("OverrideVpcConfig") or self.requested.get("VpcConfig")
        if vpc:
            subnet_id = vpc["Subnets"][0]
            interface = self._network.attach(
                subnet_id, vpc["SecurityGroupIds"], f"HyperPod {self.cluster_id} {instance_id}"
            )
            self._interfaces[instance_id] = interface
            node |= self._network.place_of(interface)
        self.nodes[instance_id] = node

    def _node_settings(self, group: dict[str, Any]) -> dict[str, Any]:
        types: list[str] = group.get("InstanceRequirements", {}).get("InstanceTypes", [])
        described = known_members("sagemaker", "ClusterNodeDetails", group)
        if "CapacityRequirements" in group:
            described["CapacityType"] = "Spot" if "Spot" in group["CapacityRequirements"] else "OnDemand"
        return described | {"InstanceType": group.get("InstanceType") or types[0]}

    def _remove(self, instance_id: str) -> None:
        del self.nodes[instance_id]
        interface = self._interfaces.pop(instance_id, None)
        if interface:
            self._network.detach([interface])
