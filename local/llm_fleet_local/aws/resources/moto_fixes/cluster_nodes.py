"""A test sets the status of a HyperPod cluster's nodes, or adds many: no machine runs here that could fail.

Source: model botocore sagemaker ClusterInstanceStatus
"""

import secrets
import time
from ipaddress import IPv4Address
from typing import Any, cast

from moto.sagemaker.models import sagemaker_backends

_FIRST = IPv4Address("10.200.0.10")
"""IP addresses of added nodes; no network of an example contains them."""


def steer_nodes(account: str, region: str, requested: dict[str, Any]) -> dict[str, Any]:
    """Change the nodes of `cluster`: `add` a number to a `group`, `remove` some by id, or set the status of some.

    Without `group` and `index` (from 0, in the order of creation) all nodes are meant. Returns their ids.
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
    """Copy the last node of `alike`, without network interfaces: creating two thousand takes a minute."""
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
