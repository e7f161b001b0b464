"""Reads AWS ParallelCluster's files on a node.

AWS documents neither file as an interface: `/etc/parallelcluster/cfnconfig` is unsupported, and its format is that of
the cookbook's template (aws-parallelcluster-cookbook, cfnconfig.erb). So nothing depends only on these files.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from llm_fleet_node.failures import Code, fail

CFNCONFIG = "/etc/parallelcluster/cfnconfig"


@dataclass(frozen=True)
class CfnConfig:
    """The values of `cfnconfig`; each can be missing."""

    cluster_name: str | None = None
    """`stack_name`, which is the cluster's name since ParallelCluster 3."""
    node_type: str | None = None
    """`HeadNode`, `ComputeFleet` or `LoginNode` (package aws-parallelcluster 3.16.1, templates: `node_type`)."""
    queue: str | None = None
    """The queue; only on compute nodes."""
    head_node: str | None = None
    """The head node's address; only on compute nodes."""
    scratch: str | None = None
    """Mount point of the instance store, on nodes that have one: `EphemeralVolume/MountDir`."""


def read_cfnconfig(path: Path) -> CfnConfig:
    """Return the values of the file; all are missing if there is no such file. Raises `Failure` if it is not text."""
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
    """Return the node's name without its domain, from the first of `paths` that has one; `None` if none has."""
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
