"""The offset of this node's clock."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, Optional

from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.node import Node

if TYPE_CHECKING:
    import socket

ACCURACY = 3.0
"""Accuracy of `clock_offset` in seconds: the header has whole seconds, and the answer has a latency."""
_SECONDS = 4.0
_CHRONY = re.compile(r"^System time\s*:\s*([0-9.]+) seconds (slow|fast) of NTP time", re.MULTILINE)
_DATE = re.compile(r"^date:\s*(.+?)\s*$", re.MULTILINE | re.IGNORECASE)
_DEFAULT_PROFILE = re.compile(r"^\[default\][^\n]*\n((?:[^\[\n][^\n]*\n|\n)*)", re.MULTILINE)
_ENDPOINT = re.compile(r"^endpoint_url\s*=\s*(\S+)", re.MULTILINE)
_CHRONY_LAST = re.compile(r"^Ref time \(UTC\)\s*:\s*(.+?)\s*$", re.MULTILINE)
"""Time of chronyd's last answer from a server, by this node's clock; see chronyc(1), tracking."""
_SYNCHRONIZED = "/run/systemd/timesync/synchronized"
"""Touched by systemd-timesyncd whenever it has set the clock; see systemd-timesyncd.service(8)."""
_FRESH = (-60.0, 4200.0)
"""Minimum and maximum age of a time service's last answer in seconds: twice the longest poll interval of
systemd-timesyncd, and four of chronyd by default (timesyncd.conf(5), chrony.conf(5)). Outside, the clock has jumped, or
no server answers: the state of the service is outdated."""


def clock_offset(node: Node) -> Optional[float]:
    """Return by how many seconds this node's clock is ahead (behind: negative), within `ACCURACY`.

    It compares with the Date header of any answer of S3, or of the SDKs' endpoint. `None` without an answer in time.
    For use after a failure, and for nodes without a time service.
    """
    before = time.time()
    date = _date_of(endpoint(node))
    if date is None:
        return None
    return (before + time.time()) / 2 - (date + 0.5)


def endpoint(node: Node) -> str:
    """Return the URL of S3: the endpoint of the AWS SDKs on this node, or the Region's."""
    region = node.manifest.region
    reported = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    profile = _DEFAULT_PROFILE.search(node.host.read("/root/.aws/config") or "")
    setting = _ENDPOINT.search(profile.group(1)) if profile else None
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return reported or (setting.group(1) if setting else f"https://s3.{region}.{domain}")


def _date_of(url: str) -> Optional[float]:
    """Return the Date header of the server at `url`; `None` if there is none.

    Without http.client, which imports ssl and email: loading them takes longer than the rest of this code.
    """
    import calendar
    import socket

    scheme, _, rest = url.partition("://")
    host, _, port = rest.split("/")[0].partition(":")
    secure = scheme == "https"
    try:
        with socket.create_connection((host, int(port or (443 if secure else 80))), timeout=_SECONDS) as plain:
            connection = _encrypted(plain, host) if secure else plain
            connection.sendall(f"HEAD / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            answer = b""
            while b"\r\n\r\n" not in answer:
                part = connection.recv(4096)
                if not part:
                    break
                answer += part
        match = _DATE.search(answer.decode("latin-1"))
        return calendar.timegm(time.strptime(match.group(1), "%a, %d %b %Y %H:%M:%S GMT")) if match else None
    except (OSError, ValueError):
        return None


def _encrypted(plain: socket.socket, host: str) -> socket.socket:
    """Return the connection with TLS. The certificate is not checked: with a wrong clock none is valid, and only the
    date is used."""
    import ssl

    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(plain, server_hostname=host)


def time_service_offset(host: Host) -> Optional[float]:
    """Return by how many seconds the clock is ahead of the node's time service; `None` if that has no valid state.

    An answer that is too old or in the future is not valid. systemd-timesyncd reports only when it set the clock, which
    counts as 0.
    """
    try:
        if _is_fresh(os.stat(host.path(_SYNCHRONIZED)).st_mtime):
            return 0.0
    except OSError:
        pass
    if host.which("chronyc") is None:
        return None
    try:
        reported = host.run("chronyc", "-n", "tracking", timeout=5)
    except CommandFailed:
        return None
    match, last = _CHRONY.search(reported), _CHRONY_LAST.search(reported)
    if match is None or last is None or not _is_fresh(_seconds_of(last.group(1))):
        return None
    if "Not synchronised" in reported:  # codespell:ignore synchronised
        return None
    return float(match.group(1)) * (1 if match.group(2) == "fast" else -1)


def _is_fresh(last: float) -> bool:
    least, most = _FRESH
    return least <= time.time() - last <= most


def _seconds_of(text: str) -> float:
    """Return chronyc's `Mon Nov 23 08:26:49 2026` as seconds since 1970; 0 if it is not a time."""
    import calendar

    try:
        return calendar.timegm(time.strptime(text, "%a %b %d %H:%M:%S %Y"))
    except ValueError:
        return 0.0
