"""This notebook instance, as SageMaker knows it: who it is, and how it stops itself."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from notebook_instance.places import METADATA, at

_LOG_GROUP = "/aws/sagemaker/NotebookInstances"


@dataclass(frozen=True)
class Instance:
    """One notebook instance."""

    name: str
    region: str


def this_instance() -> Instance:
    """Return the instance that this runs on, as SageMaker's note on its disk says."""
    reported = json.loads(at(METADATA).read_text(encoding="utf-8"))
    return Instance(name=reported["ResourceName"], region=reported["ResourceArn"].split(":")[3])


def stop(instance: Instance, reason: str, now: datetime) -> None:
    """Write `reason` into the instance's log, and stop it. A reason that cannot be written keeps nothing running."""
    import boto3  # the timer runs a Python that has it; nothing else here needs it

    try:
        _report(boto3.client("logs", region_name=instance.region), instance, reason, now)
    except Exception as error:  # whatever boto3 raises
        print(f"the reason is not in {_LOG_GROUP}: {type(error).__name__}: {error}", flush=True)
    boto3.client("sagemaker", region_name=instance.region).stop_notebook_instance(NotebookInstanceName=instance.name)


def _report(logs: Any, instance: Instance, reason: str, now: datetime) -> None:
    stream = f"{instance.name}/llm-fleet-auto-stop"
    with contextlib.suppress(logs.exceptions.ResourceAlreadyExistsException):
        logs.create_log_stream(logGroupName=_LOG_GROUP, logStreamName=stream)
    event = {"timestamp": int(now.timestamp() * 1000), "message": f"stopping: {reason}"}
    logs.put_log_events(logGroupName=_LOG_GROUP, logStreamName=stream, logEvents=[event])
