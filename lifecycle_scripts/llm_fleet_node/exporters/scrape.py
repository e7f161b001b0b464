"""Queries an exporter for its metrics, as Prometheus does."""

from __future__ import annotations

_SECONDS = 5


def metrics(port: int) -> int:
    """Return how many metrics are served on this machine's `port`; 0 if there are no Prometheus metrics."""
    head, _, body = _ask(port).partition("\r\n\r\n")
    if head.split(" ")[1:2] != ["200"]:
        return 0
    return sum(1 for line in body.splitlines() if _is_metric(line))


def _ask(port: int) -> str:
    """Return the answer to a request for the metrics; empty if there is none."""
    # Imported here, because all steps are loaded and few use it. Loading http.client takes longer than the request.
    import socket

    answer = b""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=_SECONDS) as connection:
            connection.sendall(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")
            while True:
                part = connection.recv(65536)
                if not part:
                    return answer.decode("utf-8", "replace")
                answer += part
    except OSError:
        return ""


def _is_metric(line: str) -> bool:
    """Return whether `line` is `name{labels} value` and not a comment."""
    name, _, value = line.rpartition(" ")
    if not name or line.startswith("#"):
        return False
    try:
        float(value)
    except ValueError:
        return False
    return True
