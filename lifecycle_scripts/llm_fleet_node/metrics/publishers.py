"""Hands samples over: to CloudWatch Logs, or to a Prometheus workspace."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

from llm_fleet_node.metrics import emf
from llm_fleet_node.metrics.aws import Aws, Refused
from llm_fleet_node.metrics.sample import Sample
from llm_fleet_node.metrics.settings import PROMETHEUS, Settings
from llm_fleet_node.metrics.write_request import write_request

_NO_STREAM, _IS_THERE = "ResourceNotFoundException", "ResourceAlreadyExistsException"


class Publisher(Protocol):
    """Hands samples over."""

    def send(self, samples: Sequence[Sample]) -> None:
        """Hand `samples` over, which are in order of time. Raises `Refused`."""
        ...


def publisher(settings: Settings, aws: Aws) -> Publisher:
    """Return the one that `settings` ask for."""
    return ToPrometheus(settings, aws) if settings.destination == PROMETHEUS else ToCloudWatch(settings, aws)


class ToCloudWatch:
    """Lines of the embedded metric format, in the node's own stream of the cluster's log group."""

    def __init__(self, settings: Settings, aws: Aws) -> None:
        """Take whose lines they are."""
        self._settings = settings
        self._aws = aws
        self._where = {"logGroupName": settings.log_group, "logStreamName": settings.node}

    def send(self, samples: Sequence[Sample]) -> None:
        """Write a line for each sample. Raises `Refused`, also for lines that are too old, or of the future."""
        events = [{"timestamp": one.milliseconds, "message": emf.line(one, self._settings)} for one in samples]
        request = {**self._where, "logEvents": events}
        try:
            answer = self._call("PutLogEvents", request)
        except Refused as error:
            # On the first lot, and when somebody has deleted the stream.
            if _NO_STREAM not in error.error:
                raise
            self._make_stream()
            answer = self._call("PutLogEvents", request)
        rejected = answer.get("rejectedLogEventsInfo")
        if rejected:
            raise Refused(f"logs takes some lines no more: {json.dumps(rejected)}", again=False)

    def _make_stream(self) -> None:
        try:
            self._call("CreateLogStream", self._where)
        except Refused as error:
            if _IS_THERE not in error.error:
                raise

    def _call(self, action: str, request: dict[str, Any]) -> dict[str, Any]:
        headers = {"content-type": "application/x-amz-json-1.1", "x-amz-target": f"Logs_20140328.{action}"}
        answer = self._aws.post("logs", f"https://{self._aws.host('logs')}/", headers, json.dumps(request).encode())
        return json.loads(answer) if answer.strip() else {}


class ToPrometheus:
    """Remote write to a workspace of Amazon Managed Service for Prometheus.

    docs.aws.amazon.com/prometheus/latest/userguide/AMP-APIReference-RemoteWrite.html
    assumption: prometheus-workspace-takes-remote-write
    """

    def __init__(self, settings: Settings, aws: Aws) -> None:
        """Take whose samples they are."""
        self._settings = settings
        self._aws = aws

    def send(self, samples: Sequence[Sample]) -> None:
        """Write all samples in one request. Raises `Refused`."""
        headers = {
            "content-type": "application/x-protobuf",
            "content-encoding": "snappy",
            "x-prometheus-remote-write-version": "0.1.0",
        }
        body = write_request(samples, self._settings)
        self._aws.post("aps", self._settings.remote_write_url or "", headers, body)
