"""The complete slurm.conf of a controller if no platform writes one.

Nodes register with their own hardware (dynamic nodes, Slurm 22.05): the controller needs no list of nodes or their
hardware, and a new node does not change its configuration. The partition of a node results from its feature, which is
the name of its instance group. A group without a partition, such as login nodes, gets no jobs. Accelerators are
counted, but not assigned individually: a job sees all accelerators of its nodes.
"""

from __future__ import annotations

from llm_fleet_node.manifest import Manifest
from llm_fleet_node.step import COMPUTE

_MOST_NODES = 4096


def slurm_conf(manifest: Manifest, *, host_name: str, address: str) -> str:
    """Return the text for the cluster of `manifest` with its controller at `host_name`."""
    kinds = sorted({gres_name(kind.accelerator) for group in manifest.groups for kind in group.instance_types} - {""})
    lines = [
        "# Written by llm-fleet: no platform configures Slurm on this node.",
        f"ClusterName={manifest.cluster or manifest.fleet}",
        f"SlurmctldHost={host_name}({address})",
        "SlurmUser=slurm",
        "AuthType=auth/munge",
        "StateSaveLocation=/var/spool/slurmctld",
        "SlurmdSpoolDir=/var/spool/slurmd",
        "SlurmctldLogFile=/var/log/slurm/slurmctld.log",
        "SlurmdLogFile=/var/log/slurm/slurmd.log",
        "ProctrackType=proctrack/cgroup",
        "TaskPlugin=task/none",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core",
        # A node that returns, also after a reboot, is resumed: its start has verified it.
        "ReturnToService=2",
        f"MaxNodeCount={_MOST_NODES}",
        *([f"GresTypes={','.join(kinds)}"] if kinds else []),
        *_partitions(manifest),
        "Include accounting.conf",
    ]
    return "".join(f"{line}\n" for line in lines)


def gres_name(accelerator: object) -> str:
    """Return Slurm's GRES name of the manifest's `accelerator`; empty for none."""
    return str(accelerator) if accelerator else ""


def _partitions(manifest: Manifest) -> list[str]:
    lines: list[str] = []
    sets: dict[str, list[str]] = {}
    for group in manifest.groups:
        if group.role == COMPUTE:
            lines.append(f"NodeSet={group.name} Feature={group.name}")
            sets.setdefault(group.partition or group.name, []).append(group.name)
    for number, (name, members) in enumerate(sets.items()):
        default = " Default=YES" if number == 0 else ""
        lines.append(f"PartitionName={name} Nodes={','.join(members)}{default} MaxTime=INFINITE State=UP")
    return lines
