"""Sends the result of a start: report and log to S3, and after a failure a metric and an event.

The platform also sends the log, but with an agent that is gone when the node is replaced, soon after a failure. This
code sends it before the script exits. An error here must not hide the failure, so it is only logged.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Any, Optional

from llm_fleet_node import log, report
from llm_fleet_node.failures import Code
from llm_fleet_node.manifest import Manifest
from llm_fleet_node.places import Places

_SOURCE = "llm-fleet.node"
_FAILED, _DEGRADED = "LLM Fleet Node Failed", "LLM Fleet Node Degraded"
_METRIC = "NodeStartFailures"
_DEGRADED_METRIC = "NodeStartsDegraded"
_HASH = re.compile("-[0-9a-f]{8}$")
_PATH = "/usr/local/bin:/usr/bin:/bin:/snap/bin"
Say = Callable[[str], None]


def notify(manifest: Manifest, record: dict[str, Any], name: str, places: Places, *, seconds: float, say: Say) -> None:
    """Send what the manifest configures, in parallel, within `seconds`; `record`: the report, `name`: the node."""
    if manifest.reports is None:
        return
    aws = shutil.which("aws", path=_PATH) if str(places.root) == "/" else shutil.which("aws")
    if aws is None:
        say("report: this node has no `aws` command, so nothing is sent")
        return
    commands = {"report": _copy(manifest.reports.s3_uri, name, record["started"], places)}
    if record["code"] != "OK":
        if manifest.reports.metric_namespace:
            commands["metric"] = _metric(manifest, manifest.reports.metric_namespace, record)
        if manifest.reports.event_bus:
            commands["event"] = _event(manifest, manifest.reports.event_bus, record, name, commands["report"][-1])
    elif record.get("degraded"):
        degraded = _as_degraded(record)
        if manifest.reports.metric_namespace:
            commands["metric"] = _metric(manifest, manifest.reports.metric_namespace, degraded)
        if manifest.reports.event_bus:
            commands["event"] = _event(manifest, manifest.reports.event_bus, degraded, name, commands["report"][-1])
    # The node is in use now: its jobs have priority over the AWS CLI's 0.6 s of CPU.
    behind = ["nice", "-n", "19"] if record["code"] == "OK" and shutil.which("nice") else []
    base = [*behind, aws, "--region", manifest.region, "--output", "json"]
    _run({what: [*base, *command] for what, command in commands.items()}, seconds, say)


def _copy(s3_uri: str, name: str, started: str, places: Places) -> list[str]:
    target = f"{s3_uri.rstrip('/')}/{name}/{started}/"
    wanted = ["--exclude", "*", "--include", report.NAME, "--include", log.NAME]
    return [
        "s3",
        "cp",
        "--recursive",
        "--only-show-errors",
        "--no-follow-symlinks",
        *wanted,
        str(places.log_dir),
        target,
    ]


def _metric(manifest: Manifest, namespace: str, record: dict[str, Any]) -> list[str]:
    """Two data points: with all dimensions, and with the cluster only, as an alarm cannot search for dimensions."""
    whole = {"Cluster": manifest.cluster or manifest.fleet, "Group": _group(record), "Code": record["code"]}
    metric = _DEGRADED_METRIC if record.get("is_degraded") else _METRIC
    data = [_datum(metric, whole), _datum(metric, {"Cluster": _lasting_name(manifest)})]
    return ["cloudwatch", "put-metric-data", "--namespace", namespace, "--metric-data", json.dumps(data)]


def _datum(metric: str, dimensions: dict[str, str]) -> dict[str, Any]:
    named = [{"Name": name, "Value": value} for name, value in dimensions.items()]
    return {"MetricName": metric, "Value": 1, "Unit": "Count", "Dimensions": named}


def _lasting_name(manifest: Manifest) -> str:
    """Return the cluster's configured name: ParallelCluster's has a hash that changes, the alarm's does not."""
    name = manifest.cluster or manifest.fleet
    return _HASH.sub("", name) if manifest.platform == "parallelcluster" else name


def _event(manifest: Manifest, bus: str, record: dict[str, Any], name: str, copied_to: str) -> list[str]:
    detail = {
        "fleet": manifest.fleet,
        "cluster": manifest.cluster,
        "group": _group(record),
        "node": name,
        "hook": record["hook"],
        "code": record["code"],
        "cause": record["cause"][:1000],
        "remedy": record["remedy"],
        "report": f"{copied_to}{report.NAME}",
    }
    kind = _DEGRADED if record.get("is_degraded") else _FAILED
    entry = {"Source": _SOURCE, "DetailType": kind, "Detail": json.dumps(detail), "EventBusName": bus}
    return ["events", "put-events", "--entries", json.dumps([entry])]


def _as_degraded(record: dict[str, Any]) -> dict[str, Any]:
    """Return `record` with the first failure of a degraded step as its `code`, `cause` and `remedy`."""
    first = record["degraded"][0]
    remedy = next(code.remedy for code in Code if code.code == first["code"])
    return {**record, **first, "remedy": remedy, "is_degraded": True}


def _group(record: dict[str, Any]) -> str:
    return record.get("node", {}).get("group", "unknown")


def _run(commands: dict[str, list[str]], seconds: float, say: Say) -> None:
    """Run all `commands` in parallel, and kill those that do not finish within `seconds`."""
    deadline = time.monotonic() + seconds
    running = {what: _start(command, say) for what, command in commands.items()}
    for what, process in running.items():
        if process is None:
            continue
        try:
            output, _ = process.communicate(timeout=max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            say(f"{what}: not sent within {seconds:g} s")
            continue
        trouble = _trouble(process.returncode, output.strip())
        say(f"{what}: not sent: {trouble}" if trouble else f"{what}: sent")


def _start(command: Sequence[str], say: Say) -> Optional[subprocess.Popen[str]]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        say(f"{command[0]} cannot be run: {error.strerror}")
        return None


def _trouble(code: int, output: str) -> str:
    if code:
        return output or f"ended with {code}"
    try:
        rejected = json.loads(output).get("FailedEntryCount", 0) if output else 0
    except (ValueError, AttributeError):
        return ""
    # EventBridge can reject single events although the call succeeds.
    return output if rejected else ""
