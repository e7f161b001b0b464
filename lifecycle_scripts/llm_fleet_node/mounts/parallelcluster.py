"""What AWS ParallelCluster has mounted, `SharedStorage`, is its own: looked at, and carried by EFA where it is not.

Its configuration has no key for EFA on Lustre, and it mounts before the hook OnNodeConfigured (its user data: the
cookbook's `config` comes first). What is below is not tried on an instance with EFA by us.
"""

from __future__ import annotations

from collections.abc import Sequence

from llm_fleet_node.devices.efa import interfaces
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.mounts import lustre_efa
from llm_fleet_node.mounts.table import mounted_at

_SECONDS = 90.0


def check_was_mounted(host: Host, path: str) -> None:
    """Raise `Failure` when nothing is mounted at `path`."""
    if mounted_at(host, path) is None:
        fail(
            Code.STORAGE_UNFIT,
            f"AWS ParallelCluster has mounted nothing at {path}: see SharedStorage in the cluster's configuration, "
            "and /var/log/chef-client.log",
            final=True,
        )


def volume_path(host: Host, path: str, *, below: str) -> str:
    """Return which volume of an OpenZFS file system is mounted at `path`: ParallelCluster mounts any, by its id."""
    there = mounted_at(host, path)
    found = "/" + there.device.rpartition(":/")[2] if there else below
    return found if found.startswith(f"{below}/") else below


def carry_by_efa(host: Host, paths: Sequence[str]) -> None:
    """Have the Lustre file systems at `paths` mounted again over EFA, by ParallelCluster's own lines in `/etc/fstab`.

    Nothing is done where LNet uses EFA already. Before slurmd has started nobody uses them; where somebody does all
    the same, that is told. Killed in between, the next run mounts them.
    """
    if not paths or not interfaces(host):
        return
    if not lustre_efa.show_efa(host):
        for path in reversed(paths):
            if mounted_at(host, path) is not None:
                _unmount(host, path)
        lustre_efa.configure(host)
    for path in paths:
        if mounted_at(host, path) is None:
            host.run("mount", path, timeout=_SECONDS, changes=f"mounted {path} again, over EFA")


def _unmount(host: Host, path: str) -> None:
    try:
        host.run("umount", path, timeout=_SECONDS, changes=f"unmounted {path}, which was mounted over TCP")
    except CommandFailed as error:
        fail(Code.LUSTRE_TCP, f"{path} is mounted over TCP and in use: {error.output.strip()}")
