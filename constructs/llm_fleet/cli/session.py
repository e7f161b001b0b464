"""Sessions of Session Manager: their targets, commands in them, and what Slurm says in one.

Runs a command on a node through Session Manager, the only way onto a node of HyperPod: no port, no key.

A session is a terminal, not a pipe: it turns line ends into CR LF, says a line of its own before and after, ends with
0 whatever the command ended with, and breaks off now and then with `EOF` (aws/session-manager-plugin issue 59,
aws/amazon-ssm-agent issue 354). So what a command says stands between two marks of our own, the second with its exit
code; a session that ends without the second mark was cut off. HyperPod allows three sessions to be started a second in
an account, and a document's parameter may have 65,535 characters (SageMaker and Systems Manager guides).
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Timer
from typing import TYPE_CHECKING, Any, NoReturn, cast

from llm_fleet.cli.aws.clients import told_of_aws
from llm_fleet.cli.failures import refuse
from llm_fleet.cli.nodes.node import Listing, Node, NodeRole
from llm_fleet.cli.nodes.slurm_view import SLURM_SCRIPT, SlurmView, read_slurm
from llm_fleet.fleet_file.cluster import HyperPodConfig
from llm_fleet.fleet_file.parallelcluster import ParallelClusterConfig
from llm_fleet.rules.codes import Code
from llm_fleet.rules.command_codes import NodesCode
from llm_fleet.rules.terms import NodeType

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_sagemaker import SageMakerClient


_TARGET_ORDER = (NodeType.LOGIN, NodeType.CONTROLLER)
"""A login node is where users work; a cluster without one is used on its controller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A node."""

    name: str
    """For people, e.g. `login-group i-0123456789abcdef0`."""
    ssm: str
    """For `aws ssm start-session --target`."""
    region: str


def find_target(cluster: HyperPodConfig | ParallelClusterConfig, region: str) -> Target:
    """Return the node of `cluster` to submit on. Raises `FleetError` (LF886), or what AWS refuses."""
    if isinstance(cluster, HyperPodConfig):
        return _of_hyperpod(cluster, region)
    return _of_parallelcluster(cluster.cluster_name, region)


def _of_hyperpod(cluster: HyperPodConfig, region: str) -> Target:
    name = cluster.cluster_name
    with told_of_aws(f"cluster {name}"):
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
        "wait until its controller is Running, "
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
    # Its name ends in the hash of what no update changes (`ClusterIdentity`), which only a synth could tell.
    filters = [
        {"Name": "tag:parallelcluster:cluster-name", "Values": [f"{name}-????????"]},
        {"Name": "tag:parallelcluster:node-type", "Values": ["HeadNode"]},
        {"Name": "instance-state-name", "Values": ["running"]},
    ]
    with told_of_aws(f"cluster {name}"):
        import boto3

        client: EC2Client = boto3.client("ec2", region_name=region)
        shown = client.describe_instances(Filters=cast("Any", filters))
    found = [instance for reservation in shown["Reservations"] for instance in reservation.get("Instances", [])]
    if not found:
        refuse(
            Code.JOBS_TARGET,
            "no head node of this cluster runs in the region",
            f"deploy the cluster; `aws ec2 describe-instances --region {region}` shows its head node",
            subject=f"cluster {name}",
        )
    # Two for as long as a new cluster takes the place of an old one: the new one's.
    instance: str = max(cast("list[Any]", found), key=lambda one: one["LaunchTime"])["InstanceId"]
    return Target(name=f"head node {instance}", ssm=instance, region=region)


_DOCUMENT = "AWS-StartNonInteractiveCommand"
"""assumption: hyperpod-takes-session-documents"""
_SESSION_LONGEST = 65_535
_PAUSES = (1.0, 3.0, 9.0)
"""Seconds before a session that was cut off or throttled is started again."""
_OWN_LINES = ("Cannot perform start session", "Exiting session with sessionId")
"""What the plugin says where the command speaks."""
_BRIEF = 12
"""Lines of a session that failed which are told."""


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended."""

    code: int
    lines: tuple[str, ...]


class CutOff(Exception):
    """The session ended before the command did. Its text is what the session said of it."""

    def __init__(self, said: str, *, begun: bool = False) -> None:
        """`begun`: whether the command had begun, so that to run it again is to run it twice."""
        super().__init__(said)
        self.begun = begun


class Session:
    """The way onto one node, for one user of it."""

    def __init__(self, target: Target, *, user: str, deadline: float | None = None) -> None:
        """Check that this machine has what it needs; cut a session off after `deadline` seconds (default: never).

        Raises `FleetError` (LF887).
        """
        for program in ("aws", "session-manager-plugin"):
            if shutil.which(program) is None:
                remedy = "install the AWS CLI and its Session Manager plugin; both are AWS's own downloads"
                refuse(Code.JOBS_PROGRAM, f"this machine has no {program}", remedy, subject="Session Manager")
        self.target = target
        self._user = user
        self._deadline = deadline

    def run(self, script: str) -> Done:
        """Run the bash `script` to its end, again where the session was cut off: it must bear being run twice.

        Raises `FleetError` (LF888, LF889).
        """
        failures = 0
        while True:
            lines: list[str] = []
            try:
                return Done(self.follow(script, lines.append), tuple(lines))
            except CutOff as error:
                failures += 1
                self.pause(failures, str(error))

    def pause(self, failures: int, said: str) -> None:
        """Wait before another session, after so many `failures` in a row. Raises `FleetError` (LF888) for good."""
        if failures > len(_PAUSES) or "AccessDenied" in said:
            self._refuse(said)
        time.sleep(_PAUSES[failures - 1])

    def follow(self, script: str, line: Callable[[str], None]) -> int:
        """Run the bash `script`, hand over each line as it comes, and return the exit code. Raises `CutOff`."""
        mark = secrets.token_hex(8)
        with self._started(script, mark) as process:
            assert process.stdout is not None
            told = _Told(mark, line)
            for raw in process.stdout:
                told.hear(raw.decode("utf-8", "replace").rstrip("\r\n"))
                if told.code is not None:
                    return told.code
        raise CutOff("\n".join(told.around[-_BRIEF:]) or "it ended before the command did", begun=told.begun)

    @contextmanager
    def _started(self, script: str, mark: str) -> Generator[subprocess.Popen[bytes]]:
        """Yield the session; it is ended with its context."""
        parameters = json.dumps({"command": [self._command(script, mark)]})
        if len(parameters) > _SESSION_LONGEST:
            refuse(
                Code.JOBS_TOO_LARGE,
                f"what is to be sent has {len(parameters)} characters, a session takes {_SESSION_LONGEST}",
                "submit fewer stages at once, with --stage",
                subject=self.target.name,
            )
        words = ["aws", "ssm", "start-session", "--region", self.target.region, "--target", self.target.ssm]
        words += ["--document-name", _DOCUMENT, "--parameters", parameters]
        terminal, standard_input = _terminal()
        process = subprocess.Popen(  # noqa: S603 - words of our own, no shell
            words,
            stdin=standard_input,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            process_group=None if sys.platform == "win32" else 0,
        )
        over = None if self._deadline is None else Timer(self._deadline, _end, [process])
        if over is not None:
            over.start()
        try:
            yield process
        finally:
            if over is not None:
                over.cancel()
            _end(process)
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
            for handle in (terminal, standard_input):
                if handle is not None:
                    os.close(handle)

    def _command(self, script: str, mark: str) -> str:
        """Return what the node runs: the script as the user, packed so that no shell on the way reads it."""
        packed = base64.b64encode(script.encode()).decode()
        as_user = f"sudo --non-interactive --set-home --user={self._user} bash"
        # The mark at the end has a line of its own, also after output that does not end one.
        return (
            f"bash -c 'echo; echo {mark} begin; echo {packed} | base64 --decode | "
            f"{as_user} 2>&1; code=$?; echo; echo {mark} end $code'"
        )

    def _refuse(self, said: str) -> None:
        refuse(
            Code.JOBS_SESSION,
            f"the session with {self.target.name} failed: {said}",
            "see that you may call ssm:StartSession on the cluster's ARN and on the nodes' "
            "(arn:<partition>:ssm:<region>:<account>:managed-instance/sagemaker-cluster:<cluster id>_*); "
            f"`aws ssm start-session --region {self.target.region} --target {self.target.ssm}` opens a shell there",
            subject="Session Manager",
        )


class _Told:
    """Tells what the command said from what the session said."""

    def __init__(self, mark: str, line: Callable[[str], None]) -> None:
        self._mark = mark
        self._line = line
        self._inside = False
        self.begun = False
        self._blank = False
        self.code: int | None = None
        self.around: list[str] = []

    def hear(self, text: str) -> None:
        """Take the next line."""
        if self._inside and text.startswith(f"{self._mark} end "):
            self.code = int(text.rpartition(" ")[2])
        elif self._inside and not text.startswith(_OWN_LINES):
            self._hand_over(text)
        elif text == f"{self._mark} begin":
            self._inside = self.begun = True
        elif text.strip():
            self.around.append(text)

    def _hand_over(self, text: str) -> None:
        """Hold an empty line back: before the mark at the end stands one that is ours."""
        if self._blank:
            self._line("")
        self._blank = not text
        if text:
            self._line(text)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the session with the plugin that it started: that one would go on, and holds its end of the pipe."""
    if sys.platform == "win32":
        process.terminate()
        return
    with suppress(ProcessLookupError, PermissionError):  # macOS says the second of a process that has ended.
        os.killpg(process.pid, signal.SIGTERM)


def _terminal() -> tuple[int | None, int | None]:
    """Return both ends of a terminal, neither where there are none (Windows): a session ends when its input does."""
    if not hasattr(os, "openpty"):
        return None, None
    return os.openpty()


_SLURM_SESSION_ORDER = (NodeRole.CONTROLLER, NodeRole.HEAD, NodeRole.LOGIN)
"""The controller first: it answers also when the network between nodes does not."""
_SLURM_SESSION_LONGEST = 300
"""Signs of what a failed command said that are told."""
_DEADLINE = 90.0
_ATTEMPTS = 2
_USER = "root"
"""Slurm may hide from others whose jobs run where."""


def ask_slurm(listing: Listing, region: str) -> SlurmView:
    """Return Slurm's view of the cluster. Raises `FleetError` (LF887, LF1111, LF1112) when it cannot be had."""
    node = _asked(listing.nodes)
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
            _refuse(f"the session with {target.name} failed: {error}", f"run `llm-fleet connect {node.label}`")
        if code:
            said = "; ".join(line for line in lines if not line.startswith("# "))[-_SLURM_SESSION_LONGEST:]
            words = said or f"it ended with {code}"
            _refuse(f"Slurm does not answer on {target.name}: {words}", f"run `llm-fleet connect {node.label}` and see")
        return read_slurm(lines)
    raise AssertionError("the last attempt returns or raises")


def _asked(nodes: Sequence[Node]) -> Node:
    for role in _SLURM_SESSION_ORDER:
        for node in nodes:
            if node.role is role and node.running and node.target:
                return node
    states = ", ".join(f"{node.label} is {node.status}" for node in nodes if node.role in _SLURM_SESSION_ORDER)
    _refuse(f"no node that could be asked runs: {states or 'nobody tells which is the controller'}", "wait for it")


def _refuse(message: str, remedy: str) -> NoReturn:
    remedy = f"{remedy}; --no-slurm leaves Slurm out"
    refuse(NodesCode.SLURM_SILENT, message, remedy, subject="Slurm")


def run_command(session: Session, command: str, line: Callable[[str], None]) -> int:
    """Run `command` by bash, hand over each line, and return its exit code.

    A session that ends before the command began is started again (Session Manager breaks off with `EOF` now and then,
    and refuses one too many). After that it is not: nobody knows whether the command bears being run twice. Raises
    `FleetError` (LF888, LF1109).
    """
    failures = 0
    while True:
        try:
            return session.follow(command, line)
        except CutOff as error:
            if error.begun:
                refuse(
                    NodesCode.CUT_OFF,
                    f"the session ended while the command ran: {error}",
                    "see on the node what became of it; run it again if it bears that",
                    subject=session.target.name,
                )
            failures += 1
            print(f"the session did not come about: {error}", file=sys.stderr, flush=True)
            session.pause(failures, str(error))
