"""Emulates AWS ParallelCluster on a node, before and after its custom actions.

Emulated, in this order (AWS ParallelCluster User Guide, custom bootstrap actions; user data of the
package aws-parallelcluster 3.16.1; aws/aws-parallelcluster-cookbook):

1. `/etc/parallelcluster/cfnconfig` has the type of the node; AWS does not support its use. On nodes of queues,
   `slurm_plugin/slurm_nodename` has the name in Slurm
2. the head node shares `/opt/slurm` and, unless shared storage is mounted there, `/home`; here with a bind mount of a
   folder of the machine in place of NFS. Shared storage is mounted, with lines in `/etc/fstab`; the instance store is a
   file system in memory
3. munge and Slurm are configured as by ParallelCluster, and slurmctld is started on the head node
4. the single file of the action is fetched from S3 and run as root with its arguments: see `fetch_and_run.sh`
5. after that, slurmd is started on nodes of queues, and static nodes are set to RESUME
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path

from llm_fleet_local.drill.nodes.node import Node, Running
from llm_fleet_local.drill.parallelcluster.view import COMPUTE, CONFIGURED, HEAD, Action, Machine, ParallelClusterView
from llm_fleet_local.drill.platforms.hyperpod import aws_settings
from llm_fleet_local.drill.platforms.node_files import NodeFile, put
from llm_fleet_local.drill.platforms.parallelcluster_slurm import (
    EPILOGS,
    ETC,
    PROLOGS,
    RESUME,
    SUSPEND,
    UNIT,
    conf_files,
)
from llm_fleet_local.drill.stand_ins.shared import SHARED

LOG = "/var/log/cfn-init.log"
"""Log of an action's standard output on the head node; on other nodes it is cloud-init's log."""
ERROR = "/var/log/parallelcluster/bootstrap_error_msg"
"""File with ParallelCluster's error message about an action that failed."""
RESUMED = f"{SHARED}/resumed"
"""Nodes that slurmctld resumed: one line of host names per request."""
_RUNNER = "/opt/parallelcluster/scripts/fetch_and_run"
_SHARED = {"/opt/slurm": "opt-slurm", "/home": "home"}
_NOTHING = "#!/bin/bash\nexit 0\n"
_SHARE = """
if ! mountpoint -q {path}; then
  mkdir -p {shared}
  {copy}
  [ ! -L {path} ] || rm {path}
  mkdir -p {path}
  mount --bind {shared} {path}
fi
"""


class ParallelCluster:
    """ParallelCluster's work on the nodes of one cluster.

    Source: assumption parallelcluster-nodes-as-in-its-code
    """

    def __init__(
        self,
        view: ParallelClusterView,
        *,
        endpoint: str,
        names: Mapping[str, str],
        mounts: Mapping[str, tuple[str, str]],
    ) -> None:
        """Set the cluster, the `endpoint` at which nodes reach the AWS emulator, and more DNS names (`names`).

        `mounts`: shared storage by mount point, each with its type and device.
        """
        self.view = view
        self._endpoint = endpoint
        self._names = names
        self._mounts = mounts
        self._munge_key = secrets.token_bytes(1024)

    def configure(self, node: Node, machine: Machine) -> None:
        """Configure the node before the action."""
        is_head = machine.kind == HEAD
        daemons = "munge slurmctld" if is_head else "munge"
        files = [
            NodeFile("/etc/munge/munge.key", self._munge_key, 0o400, "munge"),
            NodeFile.of("/etc/hosts", self._hosts()),
            NodeFile.of("/etc/parallelcluster/cfnconfig", self._cfnconfig(machine)),
            NodeFile.of("/etc/fstab", self._fstab()),
            NodeFile.of(_RUNNER, Path(__file__).with_name("fetch_and_run.sh").read_text(encoding="utf-8"), 0o755),
            *aws_settings(self.view.region, self._endpoint),
            *(self._of_queue(machine) if machine.kind == COMPUTE else []),
            *(self._of_head() if is_head else []),
        ]
        shared = [path for path in _SHARED if path not in self._mounts]
        put(node, [], then="".join(_share(path, fills=is_head) for path in shared))
        mounts = "".join(f"mkdir -p {path}; mount {path}; " for path in self._mounts)
        put(node, files, then=f"chmod 700 /etc/munge; {mounts} systemctl daemon-reload; {_start(daemons)}")

    def start_action(self, node: Node, event: str, action: Action, log: Path) -> Running:
        """Fetch the action's file and run it with its arguments, without waiting. `log`: lines around it."""
        command = f'cd /etc && exec {_RUNNER} "$@" >>{LOG} 2>&1'
        return node.start("bash", "-c", command, "fetch_and_run", event, action.script, *action.arguments, log=log)

    def finalize(self, node: Node, machine: Machine) -> None:
        """Finish the node after `OnNodeConfigured` has ended with 0."""
        if machine.kind != COMPUTE:
            return
        node.run("sh", "-ec", _start("slurmd"))
        if not machine.is_dynamic:
            arguments = (f"nodename={machine.host_name}", "state=resume", "reason=Node start up")
            node.run("/opt/slurm/bin/scontrol", "update", *arguments, check=False)

    def action(self, machine: Machine, event: str = CONFIGURED) -> Action | None:
        """Return the daemons that the node runs by its configuration."""
        return self.view.action(machine, event)

    def _of_head(self) -> list[NodeFile]:
        """Return Slurm's configuration and the programs in it."""
        resume = f'#!/bin/bash\n/opt/slurm/bin/scontrol show hostnames "$1" >>{RESUMED}\n'
        return [
            *(NodeFile.of(f"{ETC}/{name}", text) for name, text in conf_files(self.view).items()),
            NodeFile.of(f"{PROLOGS}/90_pcluster_health_check_manager", _NOTHING, 0o755),
            NodeFile.of(f"{EPILOGS}/90_pcluster_noop", _NOTHING, 0o755),
            NodeFile.of(RESUME, resume, 0o755),
            NodeFile.of(SUSPEND, _NOTHING, 0o755),
            NodeFile.of(RESUMED, "", 0o666, "slurm"),
        ]

    def _of_queue(self, machine: Machine) -> list[NodeFile]:
        # -b: slurmctld accepts a powered-up node only after a boot, and here the kernel has not booted.
        options = f"-N {machine.host_name}" + (" -b" if machine.is_dynamic else "")
        return [
            NodeFile.of("/etc/systemd/system/slurmd.service", UNIT),
            NodeFile.of("/etc/sysconfig/slurmd", f"SLURMD_OPTIONS={options}\n"),
            NodeFile.of("/etc/parallelcluster/slurm_plugin/slurm_nodename", machine.host_name),
        ]

    def _hosts(self) -> str:
        """Return /etc/hosts with the names from Route 53 and VPC DNS."""
        domain = f"{self.view.name}.pcluster"
        lines = [f"{one.address} {one.host_name}.{domain} {one.host_name}" for one in self.view.machines()]
        lines += [f"{address} {name}" for name, address in self._names.items()]
        return "\n".join(["127.0.0.1 localhost", *lines]) + "\n"

    def _fstab(self) -> str:
        return "".join(
            f"{device} {path} {kind} defaults,noatime,_netdev 0 0\n" for path, (kind, device) in self._mounts.items()
        )

    def _cfnconfig(self, machine: Machine) -> str:
        head = self.view.machines()[0]
        lines = [
            f"stack_name={self.view.name}",
            "cfn_preinstall_args=()",
            f"cfn_region={self.view.region}",
            f"cfn_ephemeral_dir={machine.scratch}",
            f"cfn_node_type={machine.kind}",
            "cfn_cluster_user=ubuntu",
        ]
        if machine.kind != HEAD:
            lines += [f"cfn_head_node={head.host_name}", f"cfn_head_node_private_ip={head.address}"]
        if machine.queue is not None:
            lines.append(f"cfn_scheduler_queue_name={machine.queue}")
        return "\n".join(lines) + "\n"


def _share(path: str, *, fills: bool) -> str:
    shared = f"{SHARED}/{_SHARED[path]}"
    return _SHARE.format(path=path, shared=shared, copy=f"cp -a {path}/. {shared}/" if fills else ":")


def _start(units: str) -> str:
    return f"systemctl enable --quiet --now {units}"
