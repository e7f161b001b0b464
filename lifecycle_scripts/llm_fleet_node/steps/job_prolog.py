"""AWS ParallelCluster: a file in the shared prolog folder checks the node before each job.

Source: AWS ParallelCluster User Guide, "Slurm prolog and epilog" (since 3.6.0). If one of the files there fails,
slurmd drains the node and requeues the job.
"""

from __future__ import annotations

import os
from typing import Optional

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.node import Node
from llm_fleet_node.slurm import conf_file, installation
from llm_fleet_node.slurm.node_programs import PROLOG_FOLDER, SOURCE
from llm_fleet_node.step import CONTROLLER, ON_NODE_CONFIGURED, Step

_FILE = f"{PROLOG_FOLDER}/80_llm_fleet_health_check"
"""Before ParallelCluster's `90_pcluster_health_check_manager`, which checks GPUs with NVIDIA's tools."""


def _text(node: Node) -> str:
    return (node.places.bundle / SOURCE / "parallelcluster_prolog.sh").read_text(encoding="utf-8")


def _apply(node: Node) -> None:
    node.host.folder(PROLOG_FOLDER)
    node.host.write(_FILE, _text(node), mode=0o755)


def _verify(node: Node) -> None:
    """Verify the file, and that slurm.conf has the folder."""
    host = node.host
    if host.read(_FILE) != _text(node) or not os.access(host.path(_FILE), os.X_OK):
        fail(Code.HEALTH_CHECK, f"{_FILE} does not match this bundle, or is not executable")
    conf = conf_file.read(host, installation.found(host).etc)
    reported = conf.values("Prolog") if conf else []
    if f"{PROLOG_FOLDER}/*" not in reported:
        fail(Code.HEALTH_CHECK, f"slurm.conf has Prolog={', '.join(reported) or '(none)'}, not {PROLOG_FOLDER}/*")


def _skip(node: Node) -> Optional[str]:
    """Skipped if the nodes have no health check."""
    return "fleet.json skips health_check" if "health_check" in node.manifest.steps.skip else None


STEP = Step(
    name="job_prolog",
    summary="the node is checked before each job",
    roles=frozenset({CONTROLLER}),
    hooks=frozenset({ON_NODE_CONFIGURED}),
    apply=_apply,
    verify=_verify,
    skip=_skip,
)
