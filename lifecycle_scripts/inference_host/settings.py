"""The host's settings: settings.json, written by the user data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import List, Optional

from inference_host.failures import Code, fail
from inference_host.host import Host

PATH = "/etc/llm-fleet/settings.json"


@dataclass(frozen=True)
class Mount:
    """A model in S3."""

    bucket: str
    prefix: str
    path: str
    cache_gib: int


@dataclass(frozen=True)
class Settings:
    """All settings of a host."""

    service: str
    cluster: str
    region: str
    url_suffix: str
    instance_type: str
    driver: str
    install_driver: bool
    devices: Optional[int]
    log_group: str
    stack: str
    signal_resources: List[str]
    mount: Optional[Mount]


def read_settings(host: Host) -> Settings:
    """Return the settings. Raises `Failure` if they cannot be read."""
    text = host.read(PATH)
    if text is None:
        fail(Code.SETTINGS, f"there is no {PATH}")
    try:
        reported = json.loads(text)
        mount = reported.pop("mount")
        return Settings(mount=Mount(**mount) if mount else None, **reported)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        fail(Code.SETTINGS, f"{PATH} is not valid: {error}")
