"""The checks on every boot: driver, devices, model, ECS agent; then the result is reported."""

from __future__ import annotations

import json
import os
import signal
import time
import traceback
from pathlib import Path
from typing import Any, Optional

from inference_host.agent import configure_agent
from inference_host.aws import Aws, Metadata
from inference_host.devices import check_devices
from inference_host.driver import ensure_driver
from inference_host.failures import Code, Failure, fail
from inference_host.host import Host, say
from inference_host.model import mount_model
from inference_host.settings import Settings, read_settings

READY = "/run/llm-fleet/host-ready"
"""ecs.service requires this file; the folder is empty after each boot."""
REPORT = "/var/lib/llm-fleet/host-report.json"
_STEPS = (ensure_driver, check_devices, mount_model, configure_agent)


def boot() -> int:
    """Check this host, allow or block the ECS agent, and report the result. Returns the exit code."""
    host = Host(Path(os.environ.get("LLM_FLEET_ROOT", "/")))
    host.path(READY).unlink(missing_ok=True)
    signal.signal(signal.SIGTERM, _out_of_time)
    begun = time.monotonic()
    settings: Optional[Settings] = None
    record: dict[str, Any] = {}
    try:
        settings = read_settings(host)
        record.update(service=settings.service, instance_type=settings.instance_type)
        for step in _STEPS:
            record.update(step(host, settings))
        record = {"event": "host-ready", **record}
    except Failure as failure:
        record = _rejected(failure.code, failure.message, record)
    except Exception as error:  # the agent must not start after any error
        traceback.print_exc()
        record = _rejected(Code.UNEXPECTED_ERROR, f"{type(error).__name__}: {error}", record)
    record["seconds"] = round(time.monotonic() - begun, 1)
    _report(host, settings, record)
    return 0 if record["event"] == "host-ready" else 1


def _out_of_time(*_: object) -> None:
    """Report the timeout: systemd sends SIGTERM first, and kills the process later."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    fail(Code.TIMEOUT, "the checks were stopped before they were finished")


def _rejected(code: Code, message: str, record: dict[str, Any]) -> dict[str, Any]:
    result = {"event": "host-refused", "code": code.code, "message": message, "remedy": code.remedy}
    return {**result, **record}


def _report(host: Host, settings: Optional[Settings], record: dict[str, Any]) -> None:
    """Write the result on the host, then send it; a failed send changes nothing on the host."""
    well = record["event"] == "host-ready"
    metadata = _or_none("the instance metadata", Metadata)
    instance = _or_none("the instance id", lambda: metadata.get("meta-data/instance-id")) if metadata else None
    record["instance"] = instance
    line = json.dumps(record)
    say(line)
    _or_none(REPORT, lambda: host.write(REPORT, line + "\n"))
    if well:
        host.write(READY, line + "\n")
    if settings is None or metadata is None or instance is None:
        return
    reported, name = settings, instance
    aws = _or_none("the credentials of the host's role", lambda: Aws(reported, metadata))
    if aws is not None:
        _or_none("the log", lambda: aws.log(f"host/{name}", line))
        for resource in reported.signal_resources:
            # CloudFormation rejects a signal to a resource that does not wait for one.
            _or_none(f"the signal to {resource}", lambda to=resource: aws.signal(to, name, success=well))


def _or_none(what: str, act: Any) -> Any:
    try:
        return act()
    except Exception as error:
        say(f"{what}: {type(error).__name__}: {error}")
        return None
