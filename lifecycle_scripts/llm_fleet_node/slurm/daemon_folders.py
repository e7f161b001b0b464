"""State folders of Slurm's daemons: if one is full, jobs are lost, although the daemon still answers."""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.disks.space import prove_space
from llm_fleet_node.host import Host
from llm_fleet_node.mounts.proof import prove_writable
from llm_fleet_node.names import own_name
from llm_fleet_node.slurm.conf_file import ConfFile

LEAST_FREE_MIB = 16
"""slurmctld writes its new state next to the old one, a few MiB with 10,000 jobs; slurmd writes job credentials."""
_LEAST_FILES = 100
_STATE, _SPOOL = "/var/spool/slurmctld", "/var/spool/slurmd"
"""Default folders if slurm.conf sets none. Source: HyperPod's and ParallelCluster's slurm.conf."""


def state_folder(conf: Optional[ConfFile]) -> str:
    """Return slurmctld's folder in `conf`."""
    return (conf.value("StateSaveLocation") if conf else None) or _STATE


def spool_folder(host: Host, conf: Optional[ConfFile]) -> str:
    """Return slurmd's folder in `conf`. `%h` and `%n` are the node's names (slurm.conf(5))."""
    reported = (conf.value("SlurmdSpoolDir") if conf else None) or _SPOOL
    name = own_name(host).split(".")[0]
    return reported.replace("%h", name).replace("%n", name)


def prove_room(host: Host, folder: str) -> None:
    """Raise `Failure` unless `folder` has free space and can be written."""
    prove_space(host, folder, least=LEAST_FREE_MIB << 20, files=_LEAST_FILES)
    if host.path(folder).is_dir():
        prove_writable(host, folder)
