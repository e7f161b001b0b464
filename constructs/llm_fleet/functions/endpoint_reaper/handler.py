"""Where Lambda enters. An EventBridge rule runs it at a fixed rate."""

import json
import os
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Protocol

import boto3

from .reaper import Reaper, Settings


class Context(Protocol):
    """What Lambda tells a run of itself."""

    def get_remaining_time_in_millis(self) -> int:
        """Return how long the run may still take."""
        ...


def handler(event: dict[str, Any], context: Context) -> dict[str, Any]:
    """Look at the endpoint, and end it when its time has come at the event's `time` (without one: now)."""
    reaper = Reaper(
        Settings.read(os.environ),
        lambda service: boto3.client(service),  # pyright: ignore[reportUnknownMemberType, reportUnknownLambdaType, reportArgumentType, reportCallIssue]
        patience=lambda: context.get_remaining_time_in_millis() / 1000,
    )
    outcome = asdict(reaper.run(_now(event)))
    print(json.dumps(outcome))
    return outcome


def _now(event: dict[str, Any]) -> datetime:
    """An event that comes late makes nothing older than it was when the rule sent it."""
    told = event.get("time")
    return datetime.fromisoformat(str(told).replace("Z", "+00:00")) if told else datetime.now(UTC)
