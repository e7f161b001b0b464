"""Publishes samples to CloudWatch Logs, or to a Prometheus workspace."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

from llm_fleet_node.metrics import emf
from llm_fleet_node.metrics.aws import Aws, Rejected
from llm_fleet_node.metrics.sample import Sample
from llm_fleet_node.metrics.settings import PROMETHEUS, Settings
from llm_fleet_node.metrics.write_request import write_request

_NO_STREAM, _IS_THERE = "ResourceNotFoundException", "ResourceAlreadyExistsException"


class Publisher(Protocol):
    """A destination of samples."""

    def send(self, samples: Sequence[Sample]) -> None:
        """Publish `samples`, which are in order of time. Raises `Rejected`."""
        ...


def publisher(settings: Settings, aws: Aws) -> Publisher:
    """Return the publisher for the destination in `settings`."""
    return ToPrometheus(settings, aws) if settings.destination == PROMETHEUS else ToCloudWatch(settings, aws)


class ToCloudWatch:
    """Lines of the embedded metric format, in the node's own stream of the cluster's log group."""

    def __init__(self, settings: Settings, aws: Aws) -> None:
        """`settings`: names the log group and the stream."""
        self._settings = settings
        self._aws = aws
        self._where = {"logGroupName": settings.log_group, "logStreamName": settings.node}

    def send(self, samples: Sequence[Sample]) -> None:
        """Write a line for each sample. Raises `Rejected`, also for lines that are too old or in the future."""
        events = [{"timestamp": one.milliseconds, "message": emf.line(one, self._settings)} for one in samples]
        request = {**self._where, "logEvents": events}
        try:
            answer = self._call("PutLogEvents", request)
        except Rejected as error:
            # For the first lines, and if the stream was deleted.
            if _NO_STREAM not in error.error:
                raise
            self._make_stream()
            answer = self._call("PutLogEvents", request)
        rejected = answer.get("rejectedLogEventsInfo")
        if rejected:
            raise Rejected(f"CloudWatch Logs rejected some lines: {json.dumps(rejected)}", again=False)

    def _make_stream(self) -> None:
        try:
            self._call("CreateLogStream", self._where)
        except Rejected as error:
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
        """`settings`: the workspace and the labels."""
        self._settings = settings
        self._aws = aws

    def send(self, samples: Sequence[Sample]) -> None:
        """Write all samples in one request. Raises `Rejected`."""
        headers = {
            "content-type": "application/x-protobuf",
            "content-encoding": "snappy",
            "x-prometheus-remote-write-version": "0.1.0",
        }
        body = write_request(samples, self._settings)
        self._aws.post("aps", self._settings.remote_write_url or "", headers, body)
