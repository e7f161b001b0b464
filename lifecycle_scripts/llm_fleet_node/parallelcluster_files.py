"""Reads what AWS ParallelCluster leaves on a node.

AWS documents neither as an interface: `/etc/parallelcluster/cfnconfig` is called unsupported, and is read as its
cookbook's template writes it (aws-parallelcluster-cookbook, cfnconfig.erb). So nothing rests on them alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from llm_fleet_node.failures import Code, fail

CFNCONFIG = "/etc/parallelcluster/cfnconfig"


@dataclass(frozen=True)
class CfnConfig:
    """What `cfnconfig` says; everything may be absent."""

    cluster_name: str | None = None
    """`stack_name`, which is the cluster's name since ParallelCluster 3."""
    node_type: str | None = None
    """`HeadNode`, `ComputeFleet` or `LoginNode` (package aws-parallelcluster 3.16.1, templates: `node_type`)."""
    queue: str | None = None
    """On compute nodes."""
    head_node: str | None = None
    """The head node's address, on compute nodes."""
    scratch: str | None = None
    """Where the instance store is mounted, on nodes that have one: `EphemeralVolume/MountDir`."""


def read_cfnconfig(path: Path) -> CfnConfig:
    """Return what the file says, all of it absent when there is no such file. Raises `Failure` when it is no text."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return CfnConfig()
    except (OSError, UnicodeDecodeError) as error:
        fail(Code.PLATFORM_FILE, f"{path} cannot be read: {error}")
    values = {name.strip(): value.strip().strip("\"'") for name, found, value in map(_split, lines) if found}
    return CfnConfig(
        cluster_name=values.get("stack_name") or None,
        node_type=values.get("cfn_node_type") or None,
        queue=values.get("cfn_scheduler_queue_name") or None,
        head_node=values.get("cfn_head_node_private_ip") or None,
        scratch=values.get("cfn_ephemeral_dir") or None,
    )


def read_name(*paths: Path) -> str | None:
    """Return the node's name without its domain, from the first of `paths` that tells one; `None` when none does."""
    for path in paths:
        try:
            name = path.read_text(encoding="ascii", errors="replace").strip().partition(".")[0]
        except OSError:
            continue
        if name:
            return name
    return None


def _split(line: str) -> tuple[str, str, str]:
    return line.partition("=")
