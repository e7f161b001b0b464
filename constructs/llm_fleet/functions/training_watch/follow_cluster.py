"""HyperPod's node and cluster events: told once, with the failure message that the event leaves out.

Nothing is restarted here: HyperPod replaces nodes by itself, and Slurm or Kubernetes requeue their jobs.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from botocore.exceptions import ClientError

from .cluster_event import EVENT, STATE, ClusterEvent, failure_of, metadata_of
from .parts import Parts

_LOG = logging.getLogger(__name__)
_TOLD = ("Warn", "Error")
_NONE: Mapping[str, Any] = {}


def look_at_cluster(parts: Parts, event: ClusterEvent) -> None:
    """Record and tell an event of a followed cluster, unless it was, or nobody needs to hear it."""
    if not parts.surroundings.settings.follows_cluster(event.cluster):
        return
    if event.level not in _TOLD and event.kind == EVENT:
        return
    entry = parts.record.read(event.key)
    if entry is not None and entry.text("told") is not None:
        return
    detail = _detail(parts, event)
    event = replace(event, failure=event.failure or failure_of(detail) or _state_failure(parts, event))
    words = {"level": event.level, "what": event.what, "failure": event.failure}
    words |= {"group": event.group, "instance": event.instance, "time": event.time}
    noise = is_scale_in(event, detail)
    if entry is None:
        known = {name: value for name, value in words.items() if value}
        parts.record.begin(
            event.key, {"cluster": event.cluster, "kind": event.kind, "noise": str(noise), **known}, to_do=False
        )
    if not noise:
        parts.teller.tell(about=event.cluster, what="cluster", words=words)
    parts.record.note(event.key, "told", "noise" if noise else "told")


def is_scale_in(event: ClusterEvent, detail: Mapping[str, Any]) -> bool:
    """Whether a warning says only that nodes go because somebody wants fewer: each of them warns once."""
    if event.level != "Warn":
        return False
    scaling: Mapping[str, Any] = metadata_of(detail).get("InstanceGroupScaling") or _NONE
    wanted, there = scaling.get("TargetCount"), scaling.get("InstanceCount")
    return wanted is not None and there is not None and wanted < there and not scaling.get("FailureMessage")


def _detail(parts: Parts, event: ClusterEvent) -> Mapping[str, Any]:
    """Return DescribeClusterEvent's answer; empty where the service tells none, as without continuous provisioning."""
    if event.event_id is None:
        return {}
    try:
        answer = parts.clients.sagemaker.describe_cluster_event(ClusterName=event.called, EventId=event.event_id)
    except ClientError as error:
        if _passes(error):
            raise
        _LOG.warning("event %s of %s is not described: %s", event.event_id, event.cluster, error)
        return {}
    return cast(Mapping[str, Any], answer.get("EventDetails", {}))


def _state_failure(parts: Parts, event: ClusterEvent) -> str | None:
    if event.kind != STATE or event.level != "Error":
        return None
    try:
        return parts.clients.sagemaker.describe_cluster(ClusterName=event.called).get("FailureMessage")
    except ClientError as error:
        if _passes(error):
            raise
        return None


def _passes(error: ClientError) -> bool:
    return error.response.get("Error", {}).get("Code", "").startswith("Throttling")
