"""Sets single values in the configuration files of Docker and containerd, and keeps all other values."""

from __future__ import annotations

import json
import re
from typing import Any, cast

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host

DAEMON_JSON = "/etc/docker/daemon.json"
CONTAINERD_TOML = "/etc/containerd/config.toml"

_TABLE = re.compile(r"^\s*\[")
_ROOT = re.compile(r"^\s*root\s*=\s*(.*?)\s*$")


def put_data_root(host: Host, root: str) -> bool:
    """Set Docker's `data-root` in `daemon.json`; return whether it was changed. Other keys are kept.

    Raises `Failure` if the file is not a JSON object: Docker would not start with it, and it cannot be repaired.
    """
    settings = _daemon_settings(host)
    if settings.get("data-root") == root:
        return False
    return _write(host, DAEMON_JSON, json.dumps({**settings, "data-root": root}, indent=2) + "\n")


def put_containerd_root(host: Host, root: str) -> bool:
    """Set containerd's `root` in `config.toml`; return whether it was changed. All other lines are kept."""
    lines = (host.read(CONTAINERD_TOML) or "version = 2\n").splitlines()
    # `root` is a top-level key, so it must come before the first table. Python 3.9 and 3.10 have no TOML parser.
    end = next((number for number, line in enumerate(lines) if _TABLE.match(line)), len(lines))
    wanted = f'root = "{root}"'
    there = [number for number, line in enumerate(lines[:end]) if _ROOT.match(line)]
    if [lines[number].strip() for number in there] == [wanted]:
        return False
    kept = [line for number, line in enumerate(lines) if number not in there]
    place = there[0] if there else end
    return _write(host, CONTAINERD_TOML, "".join(f"{line}\n" for line in [*kept[:place], wanted, *kept[place:]]))


def name_roots(host: Host, docker: str, containerd: str) -> bool:
    """Return whether the files set these roots of Docker and, if it has a file, of containerd."""
    lines = (host.read(CONTAINERD_TOML) or f'root = "{containerd}"').splitlines()
    return _daemon_settings(host).get("data-root") == docker and f'root = "{containerd}"' in map(str.strip, lines)


def _daemon_settings(host: Host) -> dict[str, Any]:
    text = host.read(DAEMON_JSON) or ""
    if not text.strip():
        return {}
    try:
        settings = json.loads(text)
    except ValueError as error:
        fail(Code.CONTAINER_CONFIG, f"{DAEMON_JSON} is not valid JSON: {error}", final=True)
    if not isinstance(settings, dict):
        fail(Code.CONTAINER_CONFIG, f"{DAEMON_JSON} is not a JSON object", final=True)
    return cast("dict[str, Any]", settings)


def _write(host: Host, path: str, text: str) -> bool:
    place = host.path(path)
    mode = place.stat().st_mode & 0o7777 if place.exists() else 0o644
    return host.write(path, text, mode=mode)
