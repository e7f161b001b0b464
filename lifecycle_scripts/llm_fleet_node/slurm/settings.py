"""What we set in slurm.conf beside what is there: as little as the cluster needs."""

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
"""Limits that jobs have from slurmd and not from whoever submits them: EFA locks the memory that it sends from, and the
shell of a login node may lock little and open few files."""
_LIMITS = ("propagateresourcelimits", "propagateresourcelimitsexcept")
_CHECKS = ("healthcheckprogram", "healthcheckinterval", "healthchecknodestate")


PROLOGS_SINCE = (24, 5)
"""From this Slurm on the programs of every Prolog and Epilog line run; before, the last line replaces the others.
Source: SchedMD/slurm ce7b61f6a6 (2024-04-18, first in 24.05)."""


def added_settings(conf: ConfFile, manifest: Manifest, version: tuple[int, int]) -> dict[str, str]:
    """Return what is to be set beside `conf`, which is slurm.conf without what we set, for Slurm of `version`.

    A list, such as SlurmctldParameters, comes whole with what `conf` has in it: the last line counts.
    """
    settings: dict[str, str] = {}
    for key, item in (("SlurmctldParameters", CONFIGLESS), ("SchedulerParameters", EXPANSION)):
        if item not in conf.items(key):
            settings[key] = ",".join((*conf.items(key), item))
    if not any(conf.value(key) for key in _LIMITS):
        settings["PropagateResourceLimitsExcept"] = NOT_SUBMITTERS
    if "health_check" in manifest.steps.skip or any(group.hook != ON_CREATE for group in manifest.groups):
        # On nodes whose slurmd the platform starts before our steps, the programs would not be there yet.
        return settings
    if not any(conf.value(key) for key in _CHECKS):
        settings["HealthCheckProgram"] = HEALTH_CHECK
        settings["HealthCheckInterval"] = _INTERVAL
        # Not all at once, and also where somebody drained the node: it tells when it is well again.
        settings["HealthCheckNodeState"] = "ANY,CYCLE"
    for key, program in (("Prolog", PROLOG), ("Epilog", EPILOG)):
        # Lines of the platform's own stay, and its programs run.
        if version >= PROLOGS_SINCE or not conf.value(key):
            settings[key] = program
    return settings


def keeps_auto_resume(conf: ConfFile) -> str:
    """Return what in `conf` would keep auto-resume from working; empty when nothing does."""
    plugin = conf.value("TaskPlugin") or NO_TASKS
    if plugin not in (NO_TASKS, "none"):
        return f"TaskPlugin={plugin}"
    if EXPANSION not in conf.items("SchedulerParameters"):
        return f"SchedulerParameters={conf.value('SchedulerParameters') or ''} lacks {EXPANSION}"
    return ""
