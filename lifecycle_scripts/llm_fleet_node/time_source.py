"""How far this node's clock is off."""

from __future__ import annotations

import os
import re
import time
from typing import Optional

from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.node import Node

ACCURACY = 3.0
"""Seconds by which `clock_offset` may be wrong: the header tells whole seconds, and the answer takes its time."""
_SECONDS = 4.0
_CHRONY = re.compile(r"^System time\s*:\s*([0-9.]+) seconds (slow|fast) of NTP time", re.MULTILINE)
_SYNCHRONISED = "/run/systemd/timesync/synchronized"
"""Made by systemd-timesyncd once it has set the clock; see systemd-timesyncd.service(8)."""


def clock_offset(node: Node) -> Optional[float]:
    """Return by how many seconds this node's clock is ahead (behind: negative), within `ACCURACY`.

    It compares with the Date of an answer of S3, or of `AWS_ENDPOINT_URL`, whatever that answer is. `None` when there
    is no answer within seconds. Meant for when something has failed, and for nodes without a time service.
    """
    import ssl
    from email.utils import parsedate_to_datetime
    from http.client import HTTPConnection, HTTPException, HTTPSConnection
    from urllib.parse import urlsplit

    where = urlsplit(_endpoint(node.manifest.region))
    # The certificate is not looked at: with a wrong clock none is valid, and nothing but the date is believed.
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    name = where.hostname or ""
    connection = (
        HTTPSConnection(name, where.port, timeout=_SECONDS, context=context)
        if where.scheme == "https"
        else HTTPConnection(name, where.port, timeout=_SECONDS)
    )
    try:
        before = time.time()
        connection.request("HEAD", "/")
        date = connection.getresponse().headers["Date"]
        after = time.time()
        told = parsedate_to_datetime(date or "").timestamp()
    except (OSError, HTTPException, TypeError, ValueError):
        return None
    finally:
        connection.close()
    return (before + after) / 2 - (told + 0.5)


def time_service_offset(host: Host) -> Optional[float]:
    """Return by how many seconds the clock is ahead of what the node's own time service says; `None` without its word.

    systemd-timesyncd tells only that it has set the clock: that counts as 0.
    """
    if host.path(_SYNCHRONISED).exists():
        return 0.0
    if host.which("chronyc") is None:
        return None
    try:
        told = host.run("chronyc", "-n", "tracking", timeout=5)
    except CommandFailed:
        return None
    match = _CHRONY.search(told)
    if match is None or "Not synchronised" in told:
        return None
    return float(match.group(1)) * (1 if match.group(2) == "fast" else -1)


def _endpoint(region: str) -> str:
    given = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return given or f"https://s3.{region}.{domain}"
