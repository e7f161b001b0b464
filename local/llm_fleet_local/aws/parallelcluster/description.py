"""The attributes for `Fn::GetAtt` of a cluster: the response of DescribeCluster, flattened with dots.

As describe_cluster in the source, and `flatten` in cloudformation/custom_resource/cluster.yaml.
Source: document
https://github.com/aws/aws-parallelcluster/blob/v3.16.1/cli/src/pcluster/api/controllers/cluster_operations_controller.py
(2026-11)
"""

from collections.abc import Mapping
from typing import Any

from llm_fleet_local.parallelcluster import named

_PUBLIC_ADDRESS = "203.0.113.10"
"""An address for documentation (RFC 5737): no address was allocated."""


def described(stack: Mapping[str, Any], configuration: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Return the attributes of a cluster whose stack is complete."""
    outputs = {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]}
    arn, name = str(stack["StackId"]), str(stack["StackName"])
    created = stack["CreationTime"].isoformat()
    head = named.section(configuration, "HeadNode")
    attributes: dict[str, Any] = {
        "clusterName": name,
        "clusterStatus": stack["StackStatus"],
        "cloudFormationStackStatus": stack["StackStatus"],
        "cloudformationStackArn": arn,
        "computeFleetStatus": "RUNNING",
        "creationTime": created,
        "lastUpdatedTime": stack.get("LastUpdatedTime", stack["CreationTime"]).isoformat(),
        "region": arn.split(":")[3],
        "version": version,
        "headNode.instanceId": outputs["HeadNodeInstanceID"],
        "headNode.instanceType": head["InstanceType"],
        "headNode.launchTime": created,
        "headNode.privateIpAddress": outputs["HeadNodePrivateIP"],
        "headNode.state": "running",
    }
    if str(named.section(head, "Networking").get("ElasticIp", "false")).lower() != "false":
        attributes["headNode.publicIpAddress"] = _PUBLIC_ADDRESS
    for number, pool in enumerate(named.login_pools(configuration)):
        attributes |= {f"loginNodes.{number}.{key}": value for key, value in _login_pool(pool, arn).items()}
    return attributes


def _login_pool(pool: Mapping[str, Any], arn: str) -> dict[str, Any]:
    return {
        "poolName": pool["Name"],
        "status": "active",
        "address": f"{pool['Name']}-stand-in.elb.{arn.split(':')[3]}.amazonaws.com",
        "scheme": "internal",
        "healthyNodes": pool["Count"],
        "unhealthyNodes": "0",
    }
