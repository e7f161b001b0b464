"""This notebook instance: its name and ARN, and the call that stops it."""

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
    """Return this instance, from SageMaker's resource-metadata.json."""
    reported = json.loads(at(METADATA).read_text(encoding="utf-8"))
    return Instance(name=reported["ResourceName"], region=reported["ResourceArn"].split(":")[3])


def stop(instance: Instance, reason: str, now: datetime) -> None:
    """Write `reason` to the instance's log, and stop it. It also stops if the reason cannot be written."""
    import boto3  # the timer runs a Python that has boto3; nothing else here needs it

    try:
        _report(boto3.client("logs", region_name=instance.region), instance, reason, now)
    except Exception as error:  # any error of boto3
        print(f"the reason could not be written to {_LOG_GROUP}: {type(error).__name__}: {error}", flush=True)
    boto3.client("sagemaker", region_name=instance.region).stop_notebook_instance(NotebookInstanceName=instance.name)


def _report(logs: Any, instance: Instance, reason: str, now: datetime) -> None:
    stream = f"{instance.name}/llm-fleet-auto-stop"
    with contextlib.suppress(logs.exceptions.ResourceAlreadyExistsException):
        logs.create_log_stream(logGroupName=_LOG_GROUP, logStreamName=stream)
    event = {"timestamp": int(now.timestamp() * 1000), "message": f"stopping: {reason}"}
    logs.put_log_events(logGroupName=_LOG_GROUP, logStreamName=stream, logEvents=[event])
