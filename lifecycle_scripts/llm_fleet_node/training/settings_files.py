"""The two settings files of jobs on a node: identity and paths, and the fabric."""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.manifest_parts import FOR_EXPORT, FOR_JOBS, Environment, Fabric
from llm_fleet_node.node import Node
from llm_fleet_node.training.layout import JOBS, Layout
from llm_fleet_node.training.of_group import NONE, accelerator_of, environment_for, fabric_of, training_of
from llm_fleet_node.training.shell import export, export_unless_set

TRAINING_SH = "/etc/llm-fleet/training.sh"
FABRIC_SH = "/etc/llm-fleet/fabric.sh"

_LIMITS = """\
# The limits that slurmd allows: a job starts with the limits of the submitting shell, unless slurm.conf prevents it.
# EFA locks the memory that it sends from, and each rank opens many files.
ulimit -S -l "$(ulimit -H -l)" 2>/dev/null || true
ulimit -S -n "$(ulimit -H -n)" 2>/dev/null || true
"""


def training_sh(node: Node, fingerprint: str) -> str:
    """Return the text of `training.sh`. `fingerprint` names the version of the programs, see `programs`."""
    training = training_of(node)
    layout = Layout(training.folder)
    fabric = fabric_of(node)
    programs = layout.program(fingerprint)
    values = {
        "LLM_FLEET_PLATFORM": node.manifest.platform,
        "LLM_FLEET_FLEET": node.manifest.fleet,
        "LLM_FLEET_CLUSTER": node.manifest.cluster or "",
        "LLM_FLEET_REGION": node.manifest.region,
        "LLM_FLEET_TRAINING": training.folder,
        "LLM_FLEET_PROGRAMS": programs,
        "LLM_FLEET_JOBS": f"{programs}/{JOBS}",
        **_environment(layout, environment_for(node, FOR_JOBS), "LLM_FLEET_"),
        **_environment(layout, environment_for(node, FOR_EXPORT), "LLM_FLEET_EXPORT_"),
        "LLM_FLEET_ACCELERATOR": accelerator_of(node),
        "LLM_FLEET_PROCESSES": str(fabric.processes if fabric else 1),
        "LLM_FLEET_COMPILE_CACHE": training.compile_cache.folder if training.compile_cache else "",
        "LLM_FLEET_HUB_TOKEN_SECRET": training.hub_token_secret_arn or "",
    }
    lines = "".join(export(name, value) for name, value in values.items())
    return (
        "# Written by llm-fleet: settings of jobs on this node. Batch files source it; see docs/training/jobs.md.\n"
        f"{lines}{_LIMITS}"
        f"# shellcheck source=/dev/null\n. {FABRIC_SH}\n"
    )


def fabric_sh(fabric: Optional[Fabric]) -> str:
    """Return the text of `fabric.sh`. Values that a job has already set are kept."""
    if fabric is None:
        return "# Written by llm-fleet: the group of this node has no fabric, so nothing is set.\n"
    lines = "".join(export_unless_set(variable.name, variable.value) for variable in fabric.variables)
    return (
        f"# Written by llm-fleet: the fabric {fabric.name}, complete and the same for all jobs.\n"
        "# Variables that a job sets before it sources this file, also to an empty value, are kept.\n"
        f"{lines}"
    )


def _environment(layout: Layout, environment: Optional[Environment], prefix: str) -> dict[str, str]:
    """Return the variables of the environment, with names that begin with `prefix`."""
    return {
        f"{prefix}ENVIRONMENT": layout.environment(environment) if environment else "",
        f"{prefix}ENVIRONMENT_KIND": environment.kind if environment else NONE,
        f"{prefix}PYTHON": _python(layout, environment),
    }


def _python(layout: Layout, environment: Optional[Environment]) -> str:
    """Return the Python of jobs: the environment's, or `python3` on the PATH, as in a container."""
    if environment is None or environment.kind == "container":
        return "python3"
    return f"{layout.environment(environment)}/bin/python"
