"""The controller's `slurm.conf`, as HyperPod's cluster agent writes it.

Known: the agent owns ClusterName, SlurmctldHost, NodeName and PartitionName and writes them again when the cluster
changes; `TaskPlugin=task/none` and `permit_job_expansion` (for auto-resume); configless; `accounting.conf` is included;
node names are `ip-A-B-C-D`; all nodes, the login node too, are in the default partition `dev`; each Compute group has
its partitions (SageMaker developer guide; issues of awslabs/awsome-distributed-ai). Everything else in the file is
unknown; here it has Slurm's defaults, with short timeouts.
"""

from collections.abc import Mapping
from types import MappingProxyType

from llm_fleet_local.drill.cluster_view import ClusterView, Instance

PATH = "/opt/slurm/etc/slurm.conf"

DRILL_PROFILE: Mapping[str, str] = MappingProxyType(
    {
        "SlurmdTimeout": "8",
        # Time for the remaining tasks of a job with a lost node to end: training that waits for the node does not end.
        "KillWait": "5",
        "TCPTimeout": "1",
        "MessageTimeout": "5",
        "AuthInfo": "cred_expire=5",
        "SchedulerParameters": "permit_job_expansion,sched_interval=2,bf_interval=2",
    }
)
"""Settings that differ from production, so that the drill does not wait after the loss of a node: a requeued batch job
alone would wait cred_expire + 1 s, 121 s by default (measured with Slurm 24.11.5)."""

_FIXED = (
    "SlurmUser=slurm",
    "SlurmctldParameters=enable_configless",
    # A lost node that returns is available again without an operator.
    "ReturnToService=2",
    "AuthType=auth/munge",
    "CredType=cred/munge",
    "StateSaveLocation=/var/spool/slurmctld",
    "SlurmdSpoolDir=/var/spool/slurmd",
    "SlurmctldLogFile=/var/log/slurm/slurmctld.log",
    "SlurmdLogFile=/var/log/slurm/slurmd.log",
    "ProctrackType=proctrack/linuxproc",
    "TaskPlugin=task/none",
    "SelectType=select/cons_tres",
    "JobRequeue=1",
    # The size of nodes is that of their instance types, not that of this machine.
    "SlurmdParameters=config_overrides",
)


def agent_slurm_conf(view: ClusterView, cpus: Mapping[str, int], profile: Mapping[str, str] = DRILL_PROFILE) -> str:
    """Return the file's text. `cpus`: number of CPUs by instance type; `profile`: the timeouts.

    Source: assumption hyperpod-agent-files
    """
    controller = view.controller
    lines = [
        "# Written by the drill in place of HyperPod's cluster agent.",
        f"ClusterName={view.name}",
        f"SlurmctldHost={controller.host_name}({controller.address})",
        *_FIXED,
        *(f"{name}={value}" for name, value in profile.items()),
        *_nodes(view, cpus),
        *_partitions(view),
        "include accounting.conf",
    ]
    return "\n".join(lines) + "\n"


def _nodes(view: ClusterView, cpus: Mapping[str, int]) -> list[str]:
    """Return one line for each node that runs slurmd: all except the controller."""
    return [
        f"NodeName={one.host_name} NodeAddr={one.address} CPUs={cpus.get(view.group(one.group).instance_type, 2)} "
        "State=UNKNOWN"
        for one in _slurmds(view)
    ]


def _partitions(view: ClusterView) -> list[str]:
    made = ["PartitionName=dev Nodes=ALL Default=YES MaxTime=INFINITE State=UP"]
    for group in view.groups:
        nodes = ",".join(one.host_name for one in _slurmds(view) if one.group == group.name)
        if nodes:
            made += [f"PartitionName={name} Nodes={nodes} MaxTime=INFINITE State=UP" for name in group.partitions]
    return made


def _slurmds(view: ClusterView) -> list[Instance]:
    return [one for one in view.instances if view.group(one.group).role != "Controller"]
