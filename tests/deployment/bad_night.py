"""A cluster with failures, deployed to a local emulation: the logs, reports and events that nodes and HyperPod write.

The lines and the report are those of the nodes' real runner, on throwaway nodes of this machine.
"""

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.deployment.fleet_on_aws import FleetOnAws
from tests.lifecycle_scripts.step_files import step
from tests.lifecycle_scripts.throwaway_node import OWN_ADDRESSES, Ended, Node, resource_config
from tools.synth_environment import ROOT

FAILURE = "We currently do not have sufficient capacity for the requested instance type(s). Please try again."
_STEPS = {
    "disks": step("disks"),
    "mount_lustre": step("mount_lustre", apply="fail(Code.COMMAND, 'mount: server not found', final=True)"),
    "training_environment": step("training_environment", needs=("mount_lustre",)),
}


@dataclass(frozen=True, kw_only=True)
class BadNight:
    """Which node had which failure."""

    fleet: FleetOnAws
    log_group: str
    well: str
    failed: str
    """By its log, after a run that failed before."""
    silent: str
    """Failed, with nothing in CloudWatch: only its report reports (pain 4)."""
    cut_off: str
    """Began a step, and that is the last line."""
    replaced: str
    """Gone: only its stream is left."""


_nights: dict[str, BadNight] = {}
"""By where the emulation listens: it happens once to each."""


def fall(fleet: FleetOnAws, folder: Path) -> BadNight:
    """Let it happen to `fleet`, whose workers are four, unless it has."""
    endpoint = fleet.aws.endpoint
    if endpoint not in _nights:
        _nights[endpoint] = _fall(fleet, folder)
    return _nights[endpoint]


def _fall(fleet: FleetOnAws, folder: Path) -> BadNight:
    good, bad = _starts(folder)
    sagemaker = fleet.aws.client("sagemaker")
    nodes: list[Any] = sagemaker.list_cluster_nodes(ClusterName="ml-cluster")["ClusterNodeSummaries"]
    workers = [one["InstanceId"] for one in nodes if one["InstanceGroupName"] == "worker-group"]
    others = [one for one in nodes if one["InstanceGroupName"] != "worker-group"]
    group = f"/aws/sagemaker/Clusters/ml-cluster/{fleet.cluster['ClusterArn'].rpartition('/')[2]}"
    fleet.aws.client("logs").create_log_group(logGroupName=group)
    for one in others:
        log(fleet, group, one["InstanceGroupName"], one["InstanceId"], _lines(good))
    log(fleet, group, "worker-group", workers[0], _lines(good))
    log(fleet, group, "worker-group", workers[1], _lines(bad) + _lines(bad))
    begun = next(number for number, line in enumerate(_lines(bad)) if "[mount_lustre] begins" in line)
    log(fleet, group, "worker-group", workers[3], _lines(bad)[: begun + 1])
    replaced = "i-0dead0dead0dead00"
    log(fleet, group, "worker-group", replaced, _lines(bad))
    leave_report(fleet, workers[2], bad.report)
    _report(fleet, workers[1])
    return BadNight(
        fleet=fleet,
        log_group=group,
        well=workers[0],
        failed=workers[1],
        silent=workers[2],
        cut_off=workers[3],
        replaced=replaced,
    )


def _starts(folder: Path) -> tuple[Ended, Ended]:
    """A start that ends well, and one whose file system is not there."""
    sys.path.insert(0, str(ROOT / "lifecycle_scripts"))
    node = Node(folder)
    node.has("resource_config.json", resource_config({"trn": [OWN_ADDRESSES[0]]}))
    good = node.run()
    node.publish(step_files=_STEPS)
    return good, node.run()


def _lines(ended: Ended) -> list[str]:
    """As shipped: what is on standard error comes before the line that ends the run."""
    out, err = (text.splitlines() for text in (ended.out, ended.err))
    return [line for line in [*out[:-1], *err, out[-1]] if line.strip()]


def log(fleet: FleetOnAws, group: str, node_group: str, node: str, lines: list[str]) -> None:
    logs, stream = fleet.aws.client("logs"), f"LifecycleConfig/{node_group}/{node}"
    logs.create_log_stream(logGroupName=group, logStreamName=stream)
    now = int(time.time() * 1000) - 60_000
    events = [{"timestamp": now + number, "message": line} for number, line in enumerate(lines)]
    logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=events)


def leave_report(fleet: FleetOnAws, node: str, report: dict[str, Any]) -> None:
    uri = fleet.manifest["reports"]["s3_uri"]
    bucket, _, prefix = uri.removeprefix("s3://").partition("/")
    body = json.dumps({**report, "node": {**report["node"], "group": "worker-group", "instance_id": node}})
    key = f"{prefix}{node}/{report['started']}/report.json"
    fleet.aws.client("s3").put_object(Bucket=bucket, Key=key, Body=body.encode())


def _report(fleet: FleetOnAws, node: str) -> None:
    """HyperPod's events: a failure reported twice, one of the two without its message, and a scale-in."""
    now = time.time()
    common = {"ClusterArn": fleet.cluster["ClusterArn"], "ClusterName": "ml-cluster"}
    for number, message in ((1, None), (2, FAILURE)):
        fleet.aws.report_cluster_event(
            {
                **common,
                "EventId": f"{number:08x}-89ab-cdef-0123-456789abcdef",
                "EventTime": now - 60 + number,
                "ResourceType": "Instance",
                "InstanceGroupName": "worker-group",
                "InstanceId": node,
                "EventLevel": "Error",
                "Description": "Instance creation failed",
                "EventDetails": {"EventMetadata": {"Instance": {"FailureMessage": message} if message else {}}},
            }
        )
    fleet.aws.report_cluster_event(
        {
            **common,
            "EventId": "00000003-89ab-cdef-0123-456789abcdef",
            "EventTime": now - 30,
            "ResourceType": "InstanceGroup",
            "InstanceGroupName": "worker-group",
            "EventLevel": "Warn",
            "Description": "Instances are going",
            "EventDetails": {"EventMetadata": {"InstanceGroupScaling": {"InstanceCount": 6, "TargetCount": 4}}},
        }
    )
