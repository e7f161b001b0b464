"""Slurm on a cluster: its nodes, and the node for queries and submissions.

`sinfo` and `squeue` have the same `--format` fields in Slurm 23.11 to 25.11; their JSON changes between versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, cast

from llm_fleet.cli.clients import aws_errors_reported
from llm_fleet.cli.nodes.node import Listing, Node, NodeRole
from llm_fleet.cli.session import CutOff, Session, Target
from llm_fleet.cli.verb import refuse
from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import NodesCode
from llm_fleet.rules.terms import NodeType

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_sagemaker import SageMakerClient

    from llm_fleet.fleet_file.clusters import HyperPodConfig, ParallelClusterConfig

_PART = re.compile(r"(?:[^,\[]|\[[^\]]*\])+")
_RANGE = re.compile(r"([^\[]*)\[([^\]]*)\](.*)")


def expanded(hostlist: str) -> list[str]:
    """Return the names of the nodes, as `scontrol show hostnames` would."""
    return [name for part in _PART.findall(hostlist) for name in _names(part)]


def _names(part: str) -> Iterator[str]:
    found = _RANGE.fullmatch(part)
    if found is None:
        yield part
        return
    before, ranges, after = found.groups()
    for number in _numbers(ranges):
        for name in _names(after):
            yield f"{before}{number}{name}"


def _numbers(ranges: str) -> Iterator[str]:
    for one in ranges.split(","):
        first, _, last = one.partition("-")
        if not (first.isdecimal() and (last or first).isdecimal()):
            yield one
            continue
        # Slurm pads with zeros: `[08-10]` is 08, 09, 10.
        for number in range(int(first), int(last or first) + 1):
            yield str(number).zfill(len(first))


_NODES, _JOBS, _ADDRESSES = "# nodes", "# jobs", "# addresses"
_SECONDS = 30
"""Timeout in seconds for slurmctld; its clients wait for minutes."""
_FIELDS = 4
# The resource configuration has the address of each instance, if ListClusterNodes returns no name.
_READ_ADDRESSES = (
    "import json; "
    "c = json.load(open('/opt/ml/config/resource_config.json')); "
    "[print(i['InstanceId'], i['CustomerIpAddress'], sep='|') "
    "for g in c['InstanceGroups'] for i in g.get('Instances') or []]"
)
SLURM_SCRIPT = f"""\
set -euo pipefail
export PATH=/opt/slurm/bin:$PATH LC_ALL=C
echo '{_NODES}'
timeout {_SECONDS} sinfo --all --Node --noheader --format='%N|%o|%T|%E'
echo '{_JOBS}'
timeout {_SECONDS} squeue --all --noheader --states=RUNNING,COMPLETING,CONFIGURING,SUSPENDED --format='%A|%u|%N'
echo '{_ADDRESSES}'
[[ ! -r /opt/ml/config/resource_config.json ]] || python3 -c "{_READ_ADDRESSES}" || true
"""
"""Read-only script for a node with Slurm's commands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmNode:
    """A node in Slurm."""

    name: str
    address: str
    """NodeAddr: an address or a name."""
    state: str
    """Long form, e.g. `idle`, `allocated`, `down*`; suffix `*`: does not respond, `~`: powered down."""
    reason: str = ""
    jobs: Sequence[str] = ()
    """Jobs as `id user`."""

    @property
    def word(self) -> str:
        """The state without its suffix."""
        return self.state.rstrip("*~#!%$@^-+")

    @property
    def is_off(self) -> bool:
        """Whether it is a dynamic node that Slurm has powered down, so that it has no instance."""
        return self.state.endswith(("~", "%"))

    @property
    def is_lost(self) -> bool:
        """Whether Slurm schedules no jobs on it because it does not respond or is unknown."""
        return not self.is_off and (self.state.endswith("*") or self.word in _LOST)

    @property
    def works(self) -> bool:
        """Whether Slurm schedules jobs on it, or runs some."""
        return not self.is_off and not self.state.endswith("*") and self.word in _WORKING


_LOST = frozenset({"down", "unknown", "fail", "failing", "error", "inval", "not_responding"})
_WORKING = frozenset({"idle", "allocated", "mixed", "completing", "planned"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmView:
    """All nodes in Slurm."""

    nodes: Mapping[str, SlurmNode]
    """By name."""
    addresses: Mapping[str, str] = field(default_factory=dict[str, str])
    """Addresses of HyperPod's instances, by instance id."""


def read_slurm(lines: Iterable[str]) -> SlurmView:
    """Parse the output of `SLURM_SCRIPT`. Raises `FleetError` (LF1112)."""
    parts: dict[str, list[str]] = {_NODES: [], _JOBS: [], _ADDRESSES: []}
    here: list[str] | None = None
    for line in lines:
        if line in parts:
            here = parts[line]
        elif here is not None and line.strip():
            here.append(line)
    if here is None:
        _refuse_unreadable("it has no output of sinfo")
    jobs = _jobs(parts[_JOBS])
    nodes = {node.name: node for node in (_node(line, jobs) for line in parts[_NODES])}
    pairs = (line.split("|") for line in parts[_ADDRESSES] if line.count("|") == 1)
    return SlurmView(nodes=nodes, addresses={instance: address for instance, address in pairs})


def _node(line: str, jobs: Mapping[str, Sequence[str]]) -> SlurmNode:
    # The reason is last, because it can contain any text.
    fields = line.split("|", _FIELDS - 1)
    if len(fields) != _FIELDS:
        _refuse_unreadable(f"unexpected line {line!r}")
    name, address, state, reason = fields
    reported = "" if reason.strip() in ("none", "(null)", "") else reason.strip()
    return SlurmNode(name=name, address=address, state=state.lower(), reason=reported, jobs=tuple(jobs.get(name, ())))


def _jobs(lines: Iterable[str]) -> dict[str, list[str]]:
    """Return the jobs on each node."""
    found: dict[str, list[str]] = {}
    for line in lines:
        number, user, hosts = (*line.split("|"), "", "")[:3]
        for name in expanded(hosts):
            found.setdefault(name, []).append(f"{number} {user}")
    return found


def _refuse_unreadable(what: str) -> NoReturn:
    refuse(
        NodesCode.SLURM_UNREADABLE,
        f"cannot parse the output of Slurm: {what}",
        "run `sinfo --Node` on the controller and check its output, or leave Slurm out with --no-slurm",
        subject="Slurm",
    )


_SLURM_SESSION_ORDER = (NodeRole.CONTROLLER, NodeRole.HEAD, NodeRole.LOGIN)
"""The controller is first: it responds even if the network between nodes fails."""
_SLURM_SESSION_LONGEST = 300
"""Characters of a failed command's output that are printed."""
_DEADLINE = 90.0
_ATTEMPTS = 2
_USER = "root"
"""Slurm may hide jobs from other users."""


def ask_slurm(listing: Listing, region: str) -> SlurmView:
    """Return the nodes in Slurm. Raises `FleetError` (LF887, LF1111, LF1112)."""
    node = _requested(listing.nodes)
    target = Target(name=f"{node.label} {node.instance_id}", ssm=str(node.target), region=region)
    session = Session(target, user=_USER, deadline=_DEADLINE)
    for attempt in range(1, _ATTEMPTS + 1):
        lines: list[str] = []
        try:
            code = session.follow(SLURM_SCRIPT, lines.append)
        except CutOff as error:
            if attempt < _ATTEMPTS and "AccessDenied" not in str(error):
                session.pause(attempt, str(error))
                continue
            _refuse_silent(f"the session with {target.name} failed: {error}", f"run `llm-fleet connect {node.label}`")
        if code:
            said = "; ".join(line for line in lines if not line.startswith("# "))[-_SLURM_SESSION_LONGEST:]
            words = said or f"exit code {code}"
            _refuse_silent(f"Slurm does not respond on {target.name}: {words}", f"run `llm-fleet connect {node.label}`")
        return read_slurm(lines)
    raise AssertionError("the last attempt returns or raises")


def _requested(nodes: Sequence[Node]) -> Node:
    for role in _SLURM_SESSION_ORDER:
        for node in nodes:
            if node.role is role and node.running and node.target:
                return node
    states = ", ".join(f"{node.label} is {node.status}" for node in nodes if node.role in _SLURM_SESSION_ORDER)
    _refuse_silent(f"no controller or login node runs: {states or 'the controller is unknown'}", "wait until it runs")


def _refuse_silent(message: str, remedy: str) -> NoReturn:
    remedy = f"{remedy}, or leave Slurm out with --no-slurm"
    refuse(NodesCode.SLURM_SILENT, message, remedy, subject="Slurm")


_TARGET_ORDER = (NodeType.LOGIN, NodeType.CONTROLLER)
"""Users work on a login node or, without one, on the controller."""


def find_target(cluster: HyperPodConfig | ParallelClusterConfig, region: str) -> Target:
    """Return the node of `cluster` for submissions. Raises `FleetError` (LF886), or `AwsRefusal`."""
    from llm_fleet.fleet_file.clusters import HyperPodConfig  # `llm-fleet nodes` does not need it without a fleet file.

    if isinstance(cluster, HyperPodConfig):
        return _of_hyperpod(cluster, region)
    return _of_parallelcluster(cluster.cluster_name, region)


def _of_hyperpod(cluster: HyperPodConfig, region: str) -> Target:
    name = cluster.cluster_name
    with aws_errors_reported(f"cluster {name}"):
        import boto3

        client: SageMakerClient = boto3.client("sagemaker", region_name=region)
        cluster_id = client.describe_cluster(ClusterName=name)["ClusterArn"].rpartition("/")[2]
        pages = client.get_paginator("list_cluster_nodes").paginate(ClusterName=name)
        nodes: list[Mapping[str, Any]] = [node for page in pages for node in page["ClusterNodeSummaries"]]
    roles = {group.name: group.node_type for group in cluster.groups}
    for role in _TARGET_ORDER:
        for node in nodes:
            group = node["InstanceGroupName"]
            if roles.get(group) == role and node["InstanceStatus"]["Status"] == "Running":
                instance = node["InstanceId"]
                ssm = f"sagemaker-cluster:{cluster_id}_{group}-{instance}"
                return Target(name=f"{group} {instance}", ssm=ssm, region=region)
    refuse(
        Code.JOBS_TARGET,
        f"no login node or controller of this cluster runs: {_states(nodes, roles)}",
        "wait until its controller is Running: "
        f"`aws sagemaker list-cluster-nodes --cluster-name {name} --region {region}` shows it",
        subject=f"cluster {name}",
    )


def _states(nodes: Sequence[Mapping[str, Any]], roles: Mapping[str, NodeType | None]) -> str:
    found = [
        f"{node['InstanceGroupName']} is {node['InstanceStatus']['Status']}"
        for node in nodes
        if roles.get(node["InstanceGroupName"]) in _TARGET_ORDER
    ]
    return ", ".join(found) or "it has none"


def _of_parallelcluster(name: str, region: str) -> Target:
    # The name ends in a hash (`ClusterIdentity`) that only a synth can calculate.
    filters = [
        {"Name": "tag:parallelcluster:cluster-name", "Values": [f"{name}-????????"]},
        {"Name": "tag:parallelcluster:node-type", "Values": ["HeadNode"]},
        {"Name": "instance-state-name", "Values": ["running"]},
    ]
    with aws_errors_reported(f"cluster {name}"):
        import boto3

        client: EC2Client = boto3.client("ec2", region_name=region)
        shown = client.describe_instances(Filters=cast("Any", filters))
    found = [instance for reservation in shown["Reservations"] for instance in reservation.get("Instances", [])]
    if not found:
        refuse(
            Code.JOBS_TARGET,
            "no head node of this cluster runs in this Region",
            f"deploy the cluster; `aws ec2 describe-instances --region {region}` shows its head node",
            subject=f"cluster {name}",
        )
    # During a replacement there are two: the new cluster's is used.
    instance: str = max(cast("list[Any]", found), key=lambda one: one["LaunchTime"])["InstanceId"]
    return Target(name=f"head node {instance}", ssm=instance, region=region)
