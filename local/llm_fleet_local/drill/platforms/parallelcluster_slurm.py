"""The head node's `slurm.conf`, as ParallelCluster writes it.

Known: the file includes `slurm_parallelcluster.conf`; nodes are in the state CLOUD, queues are partitions; `Prolog` and
`Epilog` are all files of two folders (AWS ParallelCluster User Guide, "Slurm prolog and epilog"; templates of
aws/aws-parallelcluster-cookbook). Static nodes are ordinary nodes in the drill, which has no daemon that launches them.
The timeouts are those of the drill.
"""

from __future__ import annotations

from llm_fleet_local.drill.parallelcluster.view import COMPUTE, Machine, ParallelClusterView
from llm_fleet_local.drill.platforms.slurm_conf import DRILL_PROFILE

ETC = "/opt/slurm/etc"
RESUME = "/opt/parallelcluster/scripts/slurm/slurm_resume"
SUSPEND = "/opt/parallelcluster/scripts/slurm/slurm_suspend"
PROLOGS, EPILOGS = f"{ETC}/scripts/prolog.d", f"{ETC}/scripts/epilog.d"
UNIT = """\
[Unit]
Description=Slurm node daemon
After=munge.service network.target remote-fs.target
ConditionPathExists=/opt/slurm/etc/slurm.conf

[Service]
Type=notify
EnvironmentFile=-/etc/sysconfig/slurmd
ExecStart=/opt/slurm/sbin/slurmd --systemd $SLURMD_OPTIONS
KillMode=process
LimitNOFILE=131072
LimitMEMLOCK=infinity
Delegate=yes

[Install]
WantedBy=multi-user.target
"""
"""The unit of slurmd on nodes of queues, which read the head node's configuration from a shared folder."""
_CPUS = 128


def conf_files(view: ParallelClusterView) -> dict[str, str]:
    """Return the files in `ETC` by name.

    Source: assumption parallelcluster-nodes-as-in-its-code
    """
    machines = view.machines()
    head, computes = machines[0], [one for one in machines if one.kind == COMPUTE]
    return {
        "slurm.conf": _lines(
            f"ClusterName={view.name}",
            "SlurmUser=slurm",
            "AuthType=auth/munge",
            "StateSaveLocation=/var/spool/slurmctld",
            "SlurmdSpoolDir=/var/spool/slurmd",
            "SlurmctldLogFile=/var/log/slurmctld.log",
            "SlurmdLogFile=/var/log/slurmd.log",
            "ReturnToService=1",
            "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none",
            "SlurmdParameters=config_overrides",
            "GresTypes=gpu",
            "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_CPU",
            f"Prolog={PROLOGS}/*",
            f"Epilog={EPILOGS}/*",
            "PrologFlags=Alloc",
            "SchedulerParameters=nohold_on_prolog_fail,sched_interval=2,bf_interval=2",
            *(f"{name}={value}" for name, value in DRILL_PROFILE.items() if name != "SchedulerParameters"),
            "include slurm_parallelcluster.conf",
        ),
        "slurm_parallelcluster.conf": _lines(
            f"SlurmctldHost={head.host_name}({head.address})",
            "SlurmctldParameters=idle_on_node_suspend,power_save_min_interval=0",
            f"ResumeProgram={RESUME}",
            f"SuspendProgram={SUSPEND}",
            "SuspendTime=3600",
            "ResumeTimeout=120",
            "SuspendTimeout=20",
            *([f"SuspendExcNodes={','.join(static)}"] if (static := _names(computes, dynamic=False)) else []),
            *(f"NodeName={one.host_name} NodeAddr={one.address} CPUs={_CPUS} State={_state(one)}" for one in computes),
            *(_partition(queue["Name"], computes, queue) for queue in view.queues),
        ),
    }


def _partition(name: str, computes: list[Machine], queue: object) -> str:
    own = [one for one in computes if one.section is queue]
    exclusive = own[0].section.get("JobExclusiveAllocation") if own else None
    sharing = " OverSubscribe=EXCLUSIVE" if str(exclusive).lower() == "true" else ""
    default = "YES" if computes and computes[0].section is queue else "NO"
    nodes = ",".join(one.host_name for one in own)
    return f"PartitionName={name} Nodes={nodes} MaxTime=INFINITE State=UP Default={default}{sharing}"


def _names(computes: list[Machine], *, dynamic: bool) -> list[str]:
    return [one.host_name for one in computes if one.is_dynamic is dynamic]


def _state(machine: Machine) -> str:
    return "CLOUD" if machine.is_dynamic else "UNKNOWN"


def _lines(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)
