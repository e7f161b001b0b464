"""What AWS ParallelCluster does on a node around the hook OnNodeConfigured.

Imitated, in the order in which it happens (AWS ParallelCluster user guide, custom bootstrap actions;
aws/aws-parallelcluster-cookbook):

1. `/etc/parallelcluster/cfnconfig` says what the node is; AWS calls it unsupported. Names of queue nodes are
   `<queue>-st-<compute resource>-<n>`
2. munge and Slurm are configured and, on the head node, slurmctld is started; the configuration is ParallelCluster's.
   `/opt/slurm` and `/home` are shared by the head node there; here every node has its own
3. the one file of the hook is fetched from S3 and run as root with its arguments; siblings are not fetched. Any exit
   code but 0 fails the node
4. only then slurmd is started on nodes of queues
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from pathlib import Path

from drill.bundle import CHECKSUMS, Bundle
from drill.nodes.node import Node, Running
from drill.platforms.hyperpod import aws_settings
from drill.platforms.node_files import NodeFile, put
from drill.platforms.slurm_conf import DRILL_PROFILE

_SCRIPT = "on_node_configured.sh"
_FETCHED = f"/opt/parallelcluster/custom-actions/{_SCRIPT}"
_LOG = "/var/log/cfn-init.log"


@dataclass(frozen=True)
class Machine:
    """One node of a ParallelCluster."""

    host_name: str
    address: str
    group: str
    """The group of the bundle: `head`, or the queue's name."""
    queue: str | None
    """`None` on the head node."""


class ParallelCluster:
    """ParallelCluster's part for one cluster: a head node and one queue."""

    def __init__(self, name: str, machines: list[Machine], *, region: str, endpoint: str) -> None:
        """Take the cluster's name, its machines, the head node first, and the embedded AWS as nodes reach it."""
        self._name = name
        self._machines = machines
        self._region = region
        self._endpoint = endpoint
        self._munge_key = secrets.token_bytes(1024)

    @property
    def head(self) -> Machine:
        """The head node."""
        return self._machines[0]

    def configure(self, node: Node, machine: Machine) -> None:
        """Do what is done before the hook."""
        daemons = "munge" if machine.queue else "munge slurmctld"
        put(
            node,
            [
                NodeFile("/etc/munge/munge.key", self._munge_key, 0o400, "munge"),
                NodeFile.of("/etc/hosts", self._hosts()),
                NodeFile.of("/etc/parallelcluster/cfnconfig", self._cfnconfig(machine)),
                NodeFile.of("/opt/slurm/etc/slurm.conf", self._slurm_conf()),
                *aws_settings(self._region, self._endpoint),
            ],
            then=f"chmod 700 /etc/munge; systemctl enable --quiet --now {daemons}",
        )

    def start_hook(self, node: Node, machine: Machine, bundle: Bundle, log: Path) -> Running:
        """Fetch the hook's one file and run it with the arguments that the construct writes; return at once."""
        digest = hashlib.sha256(bundle.files[CHECKSUMS]).hexdigest()
        put(node, [NodeFile(_FETCHED, bundle.files[_SCRIPT], 0o700)])
        arguments = f"s3://{bundle.bucket}/{bundle.prefix} {digest} {machine.group}"
        return node.start("bash", "-c", f"exec {_FETCHED} {arguments} >>{_LOG} 2>&1", log=log)

    def finalize(self, node: Node, machine: Machine) -> None:
        """Do what is done after the hook has ended with 0."""
        if machine.queue:
            # The node's own slurm.conf is the shared one there; the drill's slurmd fetches it from the head node.
            options = f"SLURMD_OPTIONS=--conf-server {self.head.address} -N {machine.host_name}\n"
            put(node, [NodeFile.of("/etc/default/slurmd", options)], then="systemctl enable --quiet --now slurmd")

    def _hosts(self) -> str:
        names = [f"{one.address} {one.host_name}" for one in self._machines]
        return "\n".join(["127.0.0.1 localhost", *names]) + "\n"

    def _cfnconfig(self, machine: Machine) -> str:
        lines = [f"stack_name={self._name}", f"cfn_region={self._region}", "cfn_cluster_user=ubuntu"]
        if machine.queue is None:
            return "\n".join([*lines, "cfn_node_type=HeadNode"]) + "\n"
        lines += ["cfn_node_type=ComputeFleet", f"cfn_scheduler_queue_name={machine.queue}"]
        lines += [f"cfn_head_node={self.head.host_name}", f"cfn_head_node_private_ip={self.head.address}"]
        return "\n".join(lines) + "\n"

    def _slurm_conf(self) -> str:
        nodes = [one for one in self._machines if one.queue]
        lines = [
            f"ClusterName={self._name}",
            f"SlurmctldHost={self.head.host_name}({self.head.address})",
            "SlurmctldParameters=enable_configless,idle_on_node_suspend",
            "SlurmUser=slurm",
            "ReturnToService=2",
            "SlurmdParameters=config_overrides",
            "StateSaveLocation=/var/spool/slurmctld",
            "SlurmdSpoolDir=/var/spool/slurmd",
            "SlurmctldLogFile=/var/log/slurmctld.log",
            "SlurmdLogFile=/var/log/slurmd.log",
            "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none",
            *(f"{name}={value}" for name, value in DRILL_PROFILE.items() if name != "SchedulerParameters"),
            *(f"NodeName={one.host_name} NodeAddr={one.address} CPUs=128 State=UNKNOWN" for one in nodes),
            *(
                f"PartitionName={queue} Nodes={','.join(one.host_name for one in nodes if one.queue == queue)} "
                "Default=YES MaxTime=INFINITE State=UP OverSubscribe=EXCLUSIVE"
                for queue in dict.fromkeys(one.queue for one in nodes)
            ),
        ]
        return "\n".join(lines) + "\n"
