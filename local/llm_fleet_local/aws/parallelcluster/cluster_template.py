"""The template of a cluster's stack: its parts, each a stand-in, and its configuration as metadata."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from llm_fleet_local.parallelcluster import named

PART = "LocalAws::ParallelCluster::"
HEAD_NODE = f"{PART}HeadNode"
PART_TYPES = frozenset({HEAD_NODE, f"{PART}ComputeResource", f"{PART}LoginPool", f"{PART}SharedStorage"})
_RETENTION_DAYS = "180"
"""ParallelCluster's default, CW_LOGS_RETENTION_DAYS_DEFAULT in pcluster/constants.py."""


def new_log_group(cluster_name: str) -> str:
    """Return the name of a new cluster's log group; it contains the time, because the group is retained."""
    return f"/aws/parallelcluster/{cluster_name}-{datetime.now(UTC):%Y%m%d%H%M%S}"


def cluster_template(configuration: Mapping[str, Any], *, version: str, log_group: str) -> str:
    """Return the template of a cluster's stack."""
    resources: dict[str, Any] = {"HeadNode": _head_node(configuration), **_log_group(configuration, log_group)}
    for queue in named.queues(configuration):
        for resource in named.compute_resources(queue):
            resources[_id("Queue", queue, resource)] = _compute_resource(queue, resource)
    for pool in named.login_pools(configuration):
        facts = {name: pool[name] for name in ("Name", "InstanceType", "Count") if name in pool}
        resources[_id("LoginPool", pool)] = {"Type": f"{PART}LoginPool", "Properties": facts}
    for storage in named.shared_storages(configuration):
        resources[_id("SharedStorage", storage)] = _shared_storage(storage)
    template = {
        "Description": f"STAND-IN of the AWS emulator for a cluster of AWS ParallelCluster {version}: nothing boots",
        "Metadata": {"Version": version, "LogGroup": log_group, "ClusterConfiguration": configuration},
        "Resources": resources,
        "Outputs": {
            "HeadNodeInstanceID": {"Value": {"Ref": "HeadNode"}},
            "HeadNodePrivateIP": {"Value": {"Fn::GetAtt": ["HeadNode", "PrivateIp"]}},
            "HeadNodePrivateDnsName": {"Value": {"Fn::GetAtt": ["HeadNode", "PrivateDnsName"]}},
            # CloudFormation detects no change if only metadata differs, and custom actions are only in metadata.
            "ConfigurationSha256": {"Value": _sha256(configuration)},
        },
    }
    return json.dumps(template)


def _sha256(configuration: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(configuration, sort_keys=True).encode()).hexdigest()


def _head_node(configuration: Mapping[str, Any]) -> dict[str, Any]:
    head = configuration["HeadNode"]
    networking = head["Networking"]
    facts = {
        "InstanceType": head["InstanceType"],
        "SubnetId": networking["SubnetId"],
        "SecurityGroupIds": networking.get("SecurityGroups") or networking.get("AdditionalSecurityGroups", ()),
    }
    return {"Type": HEAD_NODE, "Properties": facts}


def _log_group(configuration: Mapping[str, Any], name: str) -> dict[str, Any]:
    logs = named.section(configuration, "Monitoring", "Logs", "CloudWatch")
    if str(logs.get("Enabled", "true")).lower() == "false":
        return {}
    policy = logs.get("DeletionPolicy", "Retain")
    properties = {"LogGroupName": name, "RetentionInDays": logs.get("RetentionInDays", _RETENTION_DAYS)}
    return {
        "CloudWatchLogGroup": {
            "Type": "AWS::Logs::LogGroup",
            "DeletionPolicy": policy,
            "UpdateReplacePolicy": policy,
            "Properties": properties,
        }
    }


def _compute_resource(queue: Mapping[str, Any], resource: Mapping[str, Any]) -> dict[str, Any]:
    facts = {
        "Queue": queue["Name"],
        "Name": resource["Name"],
        "InstanceTypes": named.instance_types(resource),
        "MinCount": resource.get("MinCount", "0"),
        "MaxCount": resource.get("MaxCount", "10"),
        "CapacityType": queue.get("CapacityType", "ONDEMAND"),
    }
    return {"Type": f"{PART}ComputeResource", "Properties": facts}


def _shared_storage(storage: Mapping[str, Any]) -> dict[str, Any]:
    kind = storage["StorageType"]
    settings: Mapping[str, Any] = storage.get(f"{kind}Settings") or {}
    existing = next((settings[key] for key in ("FileSystemId", "VolumeId", "FileCacheId") if key in settings), None)
    facts = {"Name": storage["Name"], "StorageType": kind, "MountDir": storage["MountDir"]}
    return {"Type": f"{PART}SharedStorage", "Properties": facts | ({"ExistingId": existing} if existing else {})}


def _id(kind: str, *parts: Mapping[str, Any]) -> str:
    """Return a logical id; hyphens of the name are removed, because logical ids cannot have them."""
    return kind + "".join(f"{len(str(part['Name']))}{_alphanumeric(str(part['Name']))}" for part in parts)


def _alphanumeric(name: str) -> str:
    return "".join(letter if letter.isalnum() else f"{ord(letter):02x}" for letter in name)
