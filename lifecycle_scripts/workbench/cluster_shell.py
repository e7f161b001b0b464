#!/usr/bin/env python3
"""Opens a shell on a cluster: `cluster-shell <cluster> [group]`, with the cluster's name in AWS, or HyperPod's ARN.

Without a group: on the login node, otherwise the controller (HyperPod) or head node (ParallelCluster). Requires the AWS
CLI, its Session Manager plugin, and a role with permissions for the cluster.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import Any, NoReturn

_PLUGIN = "https://s3.amazonaws.com/session-manager-downloads/plugin/latest"
_WAYS = ("Login", "Controller")


def main(words: list[str]) -> None:
    """Replace this process with a session on the node that the arguments `words` name."""
    if len(words) not in (1, 2) or words[0].startswith("-"):
        _fail("usage: cluster-shell <cluster> [group]")
    _check_programs()
    target = _hyperpod(words[0], words[1:]) or _head_node(words[0])
    os.execvp("aws", ["aws", "ssm", "start-session", "--target", target])  # noqa: S606 - words of our own


def _fail(text: str) -> NoReturn:
    sys.exit(f"cluster-shell: {text}")


def _aws(*words: str, unless: tuple[str, ...] = ()) -> Any:
    """Return the output of the AWS CLI, or `None` if it fails with one of the messages `unless`."""
    done = subprocess.run(["aws", *words, "--output", "json"], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return json.loads(done.stdout)
    if any(word in done.stderr for word in unless):
        return None
    _fail(done.stderr.strip())


def _hyperpod(name: str, group: list[str]) -> str | None:
    # Permissions are granted for each cluster: HyperPod reports an unknown name as AccessDenied.
    unless = ("ResourceNotFound", "AccessDenied")
    cluster = _aws("sagemaker", "describe-cluster", "--cluster-name", name, unless=unless)
    if cluster is None:
        return None
    kinds = {one["InstanceGroupName"]: one.get("SlurmConfig", {}).get("NodeType") for one in cluster["InstanceGroups"]}
    groups = group or [one for way in _WAYS for one in kinds if kinds[one] == way]
    if not groups or groups[0] not in kinds:
        _fail(f"choose one of its groups: cluster-shell {name} {'|'.join(kinds)}")
    nodes = _aws("sagemaker", "list-cluster-nodes", "--cluster-name", name)["ClusterNodeSummaries"]
    for wanted in groups:
        for node in nodes:
            if node["InstanceGroupName"] == wanted and node["InstanceStatus"]["Status"] == "Running":
                cluster_id = cluster["ClusterArn"].rpartition("/")[2]
                return f"sagemaker-cluster:{cluster_id}_{wanted}-{node['InstanceId']}"
    _fail(f"no node of {' or '.join(groups)} is Running")


def _head_node(name: str) -> str:
    filters = [
        # llm-fleet adds a suffix of eight characters to the name of a ParallelCluster.
        f"Name=tag:parallelcluster:cluster-name,Values={name},{name}-????????",
        "Name=tag:parallelcluster:node-type,Values=HeadNode",
        "Name=instance-state-name,Values=running",
    ]
    shown: Any = _aws("ec2", "describe-instances", "--filters", *filters, unless=("UnauthorizedOperation",))
    reservations: list[Any] = shown["Reservations"] if shown else []
    launched: dict[str, str] = {
        one["LaunchTime"]: one["InstanceId"] for part in reservations for one in part["Instances"]
    }
    if not launched:
        _fail(f"no HyperPod cluster and no head node of {name} in this Region that this role can see")
    return launched[max(launched)]  # two while a new cluster replaces an old one


def _check_programs() -> None:
    if not shutil.which("aws"):
        _fail("the AWS CLI is not installed")
    if shutil.which("session-manager-plugin"):
        return
    if shutil.which("dpkg"):
        line = f"curl -fLO {_PLUGIN}/ubuntu_64bit/session-manager-plugin.deb && sudo dpkg -i session-manager-plugin.deb"
    else:
        line = f"sudo dnf install -y {_PLUGIN}/linux_64bit/session-manager-plugin.rpm"
    _fail(f"the Session Manager plugin of the AWS CLI is not installed. Install it from AWS:\n  {line}")


if __name__ == "__main__":
    main(sys.argv[1:])
