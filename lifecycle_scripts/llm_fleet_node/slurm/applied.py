"""Whether slurmctld has applied the current configuration files."""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.host import Host
from llm_fleet_node.node import Node
from llm_fleet_node.slurm import conf_file, topology
from llm_fleet_node.slurm.conf_file import ConfFile

_NOTE = "/var/lib/llm-fleet/slurm_configuration.sha256"
_FILES = (conf_file.NAME, conf_file.OURS, "accounting.conf", "gres.conf", topology.CONF, topology.YAML)
_PROGRAMS = ("Prolog", "Epilog", "HealthCheckProgram", "AccountingStorageType", "AccountingStorageHost")
_LISTS = (
    *("SlurmctldParameters", "SchedulerParameters", "PropagateResourceLimitsExcept"),
    *("AccountingStorageEnforce", "AccountingStorageTRES"),
)


def digest(host: Host, etc: str) -> str:
    """Return the digest of the files in `etc` that slurmctld reads and sends to the nodes."""
    import hashlib

    digest = hashlib.sha256()
    for name in _FILES:
        digest.update(f"{name}\0{host.read(f'{etc}/{name}')}\0".encode(errors="surrogateescape"))
    return digest.hexdigest()


def noted(node: Node) -> Optional[str]:
    """Return the digest of the files with which llm-fleet last started or reconfigured slurmctld; `None` before."""
    return (node.host.read(_NOTE) or "").strip() or None


def note(node: Node, digest: str) -> None:
    """Record that slurmctld runs with the configuration of this `digest`."""
    node.host.write(_NOTE, f"{digest}\n")


def difference(host: Host, conf: ConfFile) -> str:
    """Return a setting of `conf` that the running slurmctld does not have; empty if it has all relevant settings.

    Queried, because other programs reconfigure it too: the platform's agent does so after it has rewritten slurm.conf.
    """
    running = _running(host.run("scontrol", "show", "config", timeout=20))
    for key in _PROGRAMS:
        for value in conf.values(key)[-1:]:
            if value not in running.get(key, []):
                return f"{key}={value}"
    for key in _LISTS:
        missing = [item for item in conf.items(key) if item not in ",".join(running.get(key, [])).split(",")]
        if missing:
            return f"{key} with {missing[0]}"
    return ""


def _running(text: str) -> dict[str, list[str]]:
    """Return the values of each key: Slurm shows keys with several values as `Prolog[0]`, `Prolog[1]`."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        key, separator, value = line.partition("=")
        if separator:
            found.setdefault(key.strip().split("[")[0], []).append(value.strip())
    return found
