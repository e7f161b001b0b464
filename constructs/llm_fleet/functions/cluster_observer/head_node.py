"""How the head node of a ParallelCluster stands, as EC2's status checks tell."""

from typing import Any

_TAGS = ("parallelcluster:cluster-name", "parallelcluster:node-type")
_HEAD = "HeadNode"
_RUNS = ("pending", "running", "stopping", "stopped")


def head_node_is_impaired(ec2: Any, cluster: str) -> bool | None:
    """Return whether the head node of `cluster` is stopped, or fails a status check; `None` without a head node."""
    wanted = [
        {"Name": f"tag:{_TAGS[0]}", "Values": [cluster]},
        {"Name": f"tag:{_TAGS[1]}", "Values": [_HEAD]},
        {"Name": "instance-state-name", "Values": list(_RUNS)},
    ]
    found = [one for page in ec2.describe_instances(Filters=wanted)["Reservations"] for one in page["Instances"]]
    if not found:
        return None
    head = found[0]
    if head["State"]["Name"] != "running":
        return head["State"]["Name"] != "pending"
    told = ec2.describe_instance_status(InstanceIds=[head["InstanceId"]])["InstanceStatuses"]
    return any(status[which]["Status"] == "impaired" for status in told for which in ("SystemStatus", "InstanceStatus"))
