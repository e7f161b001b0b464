"""Where Lambda enters: a clock runs it every five minutes, and HyperPod's change of a cluster's state at once."""

import logging
import os
from functools import cache
from typing import Any

import boto3
from botocore.config import Config

from .observer import Observer, Settings

logging.getLogger().setLevel(logging.INFO)
_STATE = "SageMaker HyperPod Cluster State Change"
_CONFIG = Config(connect_timeout=5, read_timeout=20, retries={"total_max_attempts": 5, "mode": "standard"})


@cache
def _client(service: str) -> Any:
    return boto3.client(service, config=_CONFIG)  # pyright: ignore[reportUnknownMemberType, reportArgumentType, reportCallIssue]


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Look at all clusters; of a cluster's change of state only at its log group. Returns what was found or done."""
    observer = Observer(Settings.read(os.environ), _client)
    if event.get("detail-type") == _STATE:
        return {"log_group": observer.hear_of(event.get("detail") or {})}
    return {"seen": observer.look_at_all()}
