"""The start of a node: who am I, is my bundle whole, what must I do. Exit 0 means verified."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from typing import Any

from llm_fleet_node import checksums, manifest
from llm_fleet_node.failures import Code, Failure, fail
from llm_fleet_node.identity import Identity, identify
from llm_fleet_node.manifest import Manifest
from llm_fleet_node.places import Places
from llm_fleet_node.report import Log, now, python_version, write_report

HOOKS = ("OnInitComplete", "OnCreate")
REPORT_VERSION = 1


def main(arguments: Sequence[str]) -> int:
    """Run the hook named by `arguments`; return the exit code: 0 verified, 1 not."""
    places = Places.of_this_node()
    report: dict[str, Any] = {"schema_version": REPORT_VERSION, "started": now(), "python": python_version()}
    try:
        log = Log(places.log_dir)
        failure = _attempt(arguments, places, report, log)
        report["finished"] = now()
        report["code"] = failure.code.code if failure else "OK"
        if failure:
            report["cause"] = failure.cause
            report["remedy"] = failure.code.remedy
        write_report(places.log_dir, report)
    except Failure as error:
        print(error, file=sys.stderr, flush=True)
        return 1
    return 1 if failure else 0


def _attempt(arguments: Sequence[str], places: Places, report: dict[str, Any], log: Log) -> Failure | None:
    """Run the hook, fill in `report`, and return what went wrong, told on standard error too."""
    try:
        _run(arguments, places, report, log)
    except Failure as error:
        failure = error
    except Exception as error:
        log.line(traceback.format_exc(), error=True)
        failure = Failure(Code.UNFORESEEN, f"{type(error).__name__}: {error}")
    else:
        return None
    log.line(str(failure), error=True)
    return failure


def _run(arguments: Sequence[str], places: Places, report: dict[str, Any], log: Log) -> None:
    hook = arguments[0] if len(arguments) == 1 else ""
    if hook not in HOOKS:
        fail(Code.ARGUMENTS, f"called with {list(arguments)}, not with one of {', '.join(HOOKS)}")
    report["hook"] = hook
    told = manifest.read(places.bundle)
    report["bundle"] = {"fleet": told.fleet, "cluster": told.cluster, "content_hash": told.content_hash}
    log.line(f"{hook}: fleet {told.fleet}, cluster {told.cluster or '(any)'}, bundle {told.content_hash[:16]}")
    files = checksums.verify(places.bundle, told.scripts_sha256)
    log.line(f"bundle: {files} files are what was published")
    identity = identify(places, told)
    report["node"] = _describe(identity)
    log.line(f"node: {identity.group.role} of group {identity.group.name}")
    _check_hook(hook, identity, told)


def _check_hook(hook: str, identity: Identity, told: Manifest) -> None:
    """Raise `Failure` when this hook is not the group's, or would leave the node unfit for work."""
    if identity.group.hook != hook:
        expected = identity.group.hook or "none"
        fail(
            Code.OTHER_HOOK,
            f"group {identity.group.name} was started by {hook}, the bundle of {told.fleet} says {expected}",
        )
    if hook == "OnCreate":
        # Nothing has configured Slurm in this mode, and we do not: such a node must never be green.
        fail(Code.NO_STEPS, f"group {identity.group.name} asks this release to configure Slurm itself")


def _describe(identity: Identity) -> dict[str, Any]:
    return {
        "group": identity.group.name,
        "role": identity.group.role,
        "partition": identity.group.partition,
        "instance_id": identity.instance_id,
        "instance_name": identity.instance_name,
        "addresses": list(identity.addresses),
        "witnesses": [
            {
                "witness": testimony.witness,
                "groups": sorted(testimony.groups) if testimony.groups is not None else None,
                "says": testimony.says,
            }
            for testimony in identity.testimonies
        ],
    }
