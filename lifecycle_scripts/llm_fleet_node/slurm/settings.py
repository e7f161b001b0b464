"""The settings that llm-fleet adds to slurm.conf: only the necessary ones."""

from __future__ import annotations

from llm_fleet_node.manifest import Manifest
from llm_fleet_node.slurm.conf_file import ConfFile
from llm_fleet_node.slurm.node_programs import EPILOG, HEALTH_CHECK, PROLOG
from llm_fleet_node.step import ON_CREATE

CONFIGLESS = "enable_configless"
EXPANSION = "permit_job_expansion"
"""Auto-resume replaces a node of a running job by expanding it (SageMaker developer guide)."""
NO_TASKS = "task/none"
"""The only task plugin that auto-resume works with (SageMaker developer guide); Slurm's own default too."""
_INTERVAL = "300"
"""Seconds between two health checks of a node."""
NOT_SUBMITTERS = "MEMLOCK,NOFILE"
"""Limits that jobs get from slurmd instead of the submitting shell: EFA locks the memory that it sends from, and login
nodes have low limits for locked memory and open files."""
_LIMITS = ("propagateresourcelimits", "propagateresourcelimitsexcept")
_CHECKS = ("healthcheckprogram", "healthcheckinterval", "healthchecknodestate")


PROLOGS_SINCE = (24, 5)
"""Since this Slurm version all Prolog and Epilog lines are used; before, the last line replaces the others.
Source: SchedMD/slurm ce7b61f6a6 (2024-04-18, first in 24.05)."""


def added_settings(conf: ConfFile, manifest: Manifest, version: tuple[int, int]) -> dict[str, str]:
    """Return the settings to add to `conf`, which is slurm.conf without llm-fleet's settings, for Slurm `version`.

    A list, such as SlurmctldParameters, includes the values in `conf`, because the last line replaces the others.
    """
    settings: dict[str, str] = {}
    for key, item in (("SlurmctldParameters", CONFIGLESS), ("SchedulerParameters", EXPANSION)):
        if item not in conf.items(key):
            settings[key] = ",".join((*conf.items(key), item))
    if not any(conf.value(key) for key in _LIMITS):
        settings["PropagateResourceLimitsExcept"] = NOT_SUBMITTERS
    if "health_check" in manifest.steps.skip or any(group.hook != ON_CREATE for group in manifest.groups):
        # On nodes where the platform starts slurmd before the steps, the programs would not exist yet.
        return settings
    if not any(conf.value(key) for key in _CHECKS):
        settings["HealthCheckProgram"] = HEALTH_CHECK
        settings["HealthCheckInterval"] = _INTERVAL
        # CYCLE: not on all nodes at the same time. ANY: also on drained nodes, so that a healthy node is resumed.
        settings["HealthCheckNodeState"] = "ANY,CYCLE"
    for key, program in (("Prolog", PROLOG), ("Epilog", EPILOG)):
        # The platform's own lines stay, and its programs run.
        if version >= PROLOGS_SINCE or not conf.value(key):
            settings[key] = program
    return settings


def keeps_auto_resume(conf: ConfFile) -> str:
    """Return the setting in `conf` that prevents auto-resume; empty if there is none."""
    plugin = conf.value("TaskPlugin") or NO_TASKS
    if plugin not in (NO_TASKS, "none"):
        return f"TaskPlugin={plugin}"
    if EXPANSION not in conf.items("SchedulerParameters"):
        return f"SchedulerParameters={conf.value('SchedulerParameters') or ''} lacks {EXPANSION}"
    return ""
