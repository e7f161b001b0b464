"""Queries the Jupyter server of this instance for its kernels and terminals."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from notebook_instance.idleness import Activity, Seen

_SECONDS = 10
_PATTERNS = ("jpserver-*.json", "nbserver-*.json")


@dataclass(frozen=True)
class Server:
    """Address of a server on this machine, and its token."""

    port: int = 8443
    secure: bool = True
    base: str = "/"
    token: str = ""

    def url(self, path: str) -> str:
        """Return the URL of one of its APIs."""
        scheme = "https" if self.secure else "http"
        # These requests must not count as activity.
        return f"{scheme}://localhost:{self.port}{self.base.rstrip('/')}/api/{path}?no_track_activity=1"


def servers(runtime: Path) -> list[Server]:
    """Return the servers that have a file below `runtime`, newest first, and last the platform's own port.

    A file can be of a server that has ended. The platform's server (8443, without a token) is queried as in AWS's
    samples for notebook instances; assumption: notebook-al2023-platform
    """
    notes = [path for pattern in _PATTERNS for path in runtime.glob(pattern)]
    found = [_server(path) for path in sorted(notes, key=lambda path: path.stat().st_mtime, reverse=True)]
    return [*(server for server in found if server is not None), Server()]


def look(runtime: Path) -> Seen:
    """Return the kernels and terminals of the first server that answers."""
    why: list[str] = []
    for server in servers(runtime):
        try:
            return Seen((*_kernels(server), *_terminals(server)))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            why.append(f"port {server.port}: {type(error).__name__}: {error}")
    return Seen(None, "; ".join(dict.fromkeys(why)))


def _server(note: Path) -> Server | None:
    try:
        reported = json.loads(note.read_text(encoding="utf-8"))
        return Server(
            port=int(reported["port"]),
            secure=bool(reported["secure"]),
            base=str(reported.get("base_url") or "/"),
            token=str(reported.get("token") or ""),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _kernels(server: Server) -> list[Activity]:
    return [
        Activity(f"kernel {one['name']}", one["execution_state"] == "busy", _time(one["last_activity"]))
        for one in _get(server, "kernels")
    ]


def _terminals(server: Server) -> list[Activity]:
    try:
        reported = _get(server, "terminals")
    except urllib.error.HTTPError as error:
        if error.code == 404:  # a server without terminals
            return []
        raise
    return [Activity(f"terminal {one['name']}", False, _time(one["last_activity"])) for one in reported]


def _get(server: Server, path: str) -> Any:
    request = urllib.request.Request(server.url(path))  # noqa: S310 (http or https, see `url`)
    if server.token:
        request.add_header("Authorization", f"token {server.token}")
    # No proxy for this machine itself.
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=_of_this_machine())
    )
    with opener.open(request, timeout=_SECONDS) as answer:
        return json.loads(answer.read())


def _of_this_machine() -> ssl.SSLContext:
    """Return a context that accepts any certificate: the server's is self-signed, and traffic stays on the machine."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _time(text: str) -> datetime:
    reported = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return reported if reported.tzinfo else reported.replace(tzinfo=timezone.utc)
