"""Nodes of a HyperPod cluster that fail, wait or are many, at a word: no machine is here that could.

Source: model botocore sagemaker ClusterInstanceStatus
"""

import secrets
import time
from ipaddress import IPv4Address
from typing import Any, cast

from moto.sagemaker.models import sagemaker_backends

_FIRST = IPv4Address("10.200.0.10")
"""Of nodes that were added: outside of what the examples' networks have."""


def steer_nodes(account: str, region: str, requested: dict[str, Any]) -> dict[str, Any]:
    """Do one wish about the nodes of `cluster`: `add` so many to a `group`, `remove` such, or give some a status.

    Without `group` and `index` (from 0, in the order of their making) all nodes are meant. Returns their ids.
    """
    clusters = cast("dict[str, Any]", sagemaker_backends[account][region].clusters)
    record = next(one for one in clusters.values() if one.cluster_name == requested["cluster"])
    ids: list[str] = [
        one for one, node in record.nodes.items() if requested["group"] in (None, node["InstanceGroupName"])
    ]
    if requested["add"]:
        return {"ids": _add(record, ids, int(requested["add"]))}
    if requested["remove"]:
        for one in requested["remove"]:
            del record.nodes[one]
        return {"ids": requested["remove"]}
    if requested["index"] is not None:
        ids = [ids[requested["index"]]]
    for one in ids:
        status = {"Status": requested["status"]} | ({"Message": requested["message"]} if requested["message"] else {})
        record.nodes[one]["InstanceStatus"] = status
    return {"ids": ids}


def _add(record: Any, alike: list[str], count: int) -> list[str]:
    """Add nodes like the last of `alike`, without network interfaces: two thousand would take a minute to make."""
    model = record.nodes[alike[-1]]
    made: list[str] = []
    for number in range(count):
        instance_id = f"i-0{secrets.token_hex(8)}"
        address = str(_FIRST + number)
        named = {"PrivatePrimaryIp": address, "PrivateDnsHostname": f"ip-{address.replace('.', '-')}"}
        launched = {"InstanceId": instance_id, "LaunchTime": time.time() + number / 1000}
        record.nodes[instance_id] = {**model, **named, **launched}
        made.append(instance_id)
    return made
