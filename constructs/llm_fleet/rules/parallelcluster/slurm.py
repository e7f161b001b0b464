"""Settings of Slurm that ParallelCluster makes itself, and those that cannot stand together."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from llm_fleet.catalog.parallelcluster import denied_slurm_settings
from llm_fleet.rules.accounting import keeps_records
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.configuration import check_keyed
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.parallelcluster import PlacedParallelCluster, SlurmSettings
from llm_fleet.spec.parallelcluster_queue import ComputeResource, Queue

_SETTINGS = "Scheduling/SlurmSettings"
_OWN_LINES = frozenset({"nodename", "nodeset", "partitionname"})
"""What begins a line of several settings in slurm.conf: nodes and partitions of one's own."""
_RESERVED_IN_NODE_NAMES = ("-st-", "-dy-")
_PROLOG_FOLDER = "put an executable into /opt/slurm/etc/scripts/{}.d, which all nodes share"
_INSTEAD = {
    "grestypes": "leave it out: ParallelCluster tells Slurm of NVIDIA GPUs; it cannot count Neuron devices, so give "
    "jobs whole nodes by `exclusive`",
    "prolog": _PROLOG_FOLDER.format("prolog"),
    "epilog": _PROLOG_FOLDER.format("epilog"),
    "oversubscribe": "set the queue's `exclusive`",
    "suspendtime": "set scaledown_idletime_minutes",
    "weight": "set static_node_priority and dynamic_node_priority",
}


def check_slurm_conf(slurm: SlurmSettings) -> list[Problem]:
    """Check settings of slurm.conf (CustomSlurmSettingsValidator, CustomSlurmNodeNamesValidator).

    Stricter than ParallelCluster, which looks into no map of several keys: one that is no line of nodes or partitions
    is looked into here, for it would be written all the same.
    """
    if is_unresolved(slurm.custom_settings):
        return []
    return [
        *(
            problem
            for index, line in enumerate(slurm.custom_settings)
            for problem in _check_line(line, "custom_settings", index)
        ),
        *_check_both(slurm),
        *check_keyed(
            f"{_SETTINGS}/ScaledownIdletime",
            slurm.scaledown_idletime_minutes,
            Code.PC_SETTING,
            "scaledown_idletime_minutes",
            what="the time after which idle nodes go",
            remedy="write minutes, or -1 to keep idle nodes",
        ),
    ]


def check_queue_settings(queue: Queue) -> list[Problem]:
    """Check the settings of a queue's line in slurm.conf."""
    return _check_denied(queue.custom_slurm_settings, "queue", "custom_slurm_settings")


def check_resource_settings(resource: ComputeResource) -> list[Problem]:
    """Check the settings of the nodes' line in slurm.conf."""
    return _check_denied(resource.custom_slurm_settings, "compute_resource", "custom_slurm_settings")


def check_accounting_settings(cluster: PlacedParallelCluster) -> list[Problem]:
    """Check that with a database nobody sets how accounting is reached.

    Stricter: with an external slurmdbd ParallelCluster writes these settings too, but does not look for others.
    """
    if not keeps_records(cluster.accounting) or is_unresolved(cluster.slurm.custom_settings):
        return []
    return [
        problem
        for index, line in enumerate(cluster.slurm.custom_settings)
        for problem in _check_denied(line, "accounting", "slurm", "custom_settings", index)
    ]


def _check_line(line: Mapping[str, Any], *path: PathPart) -> list[Problem]:
    names = {key.casefold() for key in line}
    if names & _OWN_LINES and len(line) > 1:
        return _check_node_name(line, *path)
    return [*_check_denied(line, "slurm_conf", *path), *_check_node_name(line, *path)]


def _check_denied(settings: Mapping[str, Any], level: str, *path: PathPart) -> list[Problem]:
    if is_unresolved(settings):
        return []
    denied = {name.casefold(): name for name in denied_slurm_settings(level)}
    return [
        Problem(
            code=Code.PC_SLURM_DENIED,
            message=f"ParallelCluster writes {denied[key.casefold()]} itself, and would be in its own way",
            remedy=_INSTEAD.get(key.casefold(), "leave it out"),
            path=(*path, key),
            value=settings[key],
            allowed=f"any setting of Slurm but {', '.join(denied.values())}",
        )
        for key in settings
        if key.casefold() in denied
    ]


def _check_node_name(line: Mapping[str, Any], *path: PathPart) -> list[Problem]:
    return [
        Problem(
            code=Code.PC_SLURM_NODE_NAME,
            message=f"ParallelCluster takes nodes with {' or '.join(_found(value))} in their names for its own",
            remedy=f"write {re.sub('-(st|dy)-', '-', str(value))!r}",
            path=(*path, key),
            value=value,
        )
        for key, value in line.items()
        if key.casefold() == "nodename" and not is_unresolved(value) and _found(value)
    ]


def _check_both(slurm: SlurmSettings) -> list[Problem]:
    """CustomSlurmSettingsIncludeFileOnlyValidator, and UrlValidator's word on the file's place."""
    place = slurm.custom_settings_file
    problems: list[Problem] = []
    if place is not None and slurm.custom_settings:
        problems.append(
            Problem(
                code=Code.PC_SLURM_BOTH,
                message="settings of Slurm stand here and in a file",
                remedy="put all of them into the file, or all of them here; only those here are checked",
                path=("custom_settings_file",),
                value=place,
            )
        )
    if place is not None and not is_unresolved(place) and not place.startswith(("s3://", "https://")):
        problems.append(
            Problem(
                code=Code.PC_SETTING,
                message="ParallelCluster fetches the file from S3 or by https",
                remedy="put the file into a bucket that the head node may read, and write its s3:// address",
                path=("custom_settings_file",),
                value=place,
                allowed="s3://… or https://…",
            )
        )
    return problems


def _found(value: object) -> Iterable[str]:
    return [repr(part) for part in _RESERVED_IN_NODE_NAMES if part in str(value)]
