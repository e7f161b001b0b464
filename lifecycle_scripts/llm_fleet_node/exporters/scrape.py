"""Asks an exporter for its metrics, as Prometheus does."""

from __future__ import annotations

_SECONDS = 5


def metrics(port: int) -> int:
    """Return how many metrics are served on this machine's `port`; 0 when nothing that is meant for Prometheus is."""
    # Only here: every node compiles every module, and few ask for this one.
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
    try:
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace") if answer.status == http.client.OK else ""
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()
    return sum(1 for line in text.splitlines() if _is_metric(line))


def _is_metric(line: str) -> bool:
    """Return whether `line` is `name{labels} value`, and no comment."""
    name, _, value = line.rpartition(" ")
    if not name or line.startswith("#"):
        return False
    try:
        float(value)
    except ValueError:
        return False
    return True
