"""Mounts of AWS ParallelCluster (`SharedStorage`): only verified, and remounted for Lustre over EFA.

ParallelCluster's configuration has no key for EFA on Lustre, and it mounts before the hook OnNodeConfigured (user data:
the cookbook's `config` runs first).
"""

from __future__ import annotations

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.mounts.table import mounted_at

_SECONDS = 90.0


def check_was_mounted(host: Host, path: str) -> None:
    """Raise `Failure` if nothing is mounted at `path`."""
    if mounted_at(host, path) is None:
        fail(
            Code.STORAGE_UNUSABLE,
            f"AWS ParallelCluster has mounted nothing at {path}: check SharedStorage in the cluster's configuration, "
            "and /var/log/chef-client.log",
            final=True,
        )


def volume_path(host: Host, path: str, *, below: str) -> str:
    """Return the OpenZFS volume that is mounted at `path`: ParallelCluster mounts any volume by its id."""
    there = mounted_at(host, path)
    found = "/" + there.device.rpartition(":/")[2] if there else below
    return found if found.startswith(f"{below}/") else below


def mount_again(host: Host, path: str) -> None:
    """Mount `path` from ParallelCluster's line in `/etc/fstab`, if it was unmounted by this or a killed run."""
    if mounted_at(host, path) is None:
        host.run("mount", path, timeout=_SECONDS, changes=f"mounted {path} again")
