"""The daily clean-up of the compile cache on one node: program, unit and timer."""

from __future__ import annotations

import shlex
import sys

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.manifest_parts import CompileCache
from llm_fleet_node.node import Node
from llm_fleet_node.services import is_active, needs_reload, reload_units

NAME = "llm-fleet-compile-cache"
PROGRAM = "/opt/llm-fleet/training/clean_compile_cache.py"
SOURCE = "node_files/training/clean_compile_cache.py"
"""Its path in the bundle."""
_FOLDER = "/etc/systemd/system"
_TIMER = """\
# Written by llm-fleet.
[Unit]
Description=llm-fleet: daily removal of unused compiled graphs

[Timer]
OnCalendar=daily
RandomizedDelaySec=3600
Persistent=true

[Install]
WantedBy=timers.target
"""


def put(node: Node, cache: CompileCache) -> None:
    """Enable and start the timer with its current files."""
    host = node.host
    for path, text in _files(node, cache).items():
        host.write(path, text)
    host.link(f"{_FOLDER}/timers.target.wants/{NAME}.timer", f"{_FOLDER}/{NAME}.timer")
    if needs_reload(host, f"{NAME}.service", f"{NAME}.timer"):  # from systemd, also after a run was killed here
        # Stopped first: after a kill here, the next run finds it stopped and starts it.
        host.run("systemctl", "stop", f"{NAME}.timer")
        reload_units(host)
    if not is_active(host, f"{NAME}.timer"):
        host.run("systemctl", "start", f"{NAME}.timer", changes=f"started {NAME}.timer")


def check(node: Node, cache: CompileCache) -> None:
    """Raise `Failure` unless the timer runs with the files of this bundle."""
    host: Host = node.host
    for path, text in _files(node, cache).items():
        if host.read(path) != text:
            fail(Code.COMPILE_CACHE, f"{path} does not match this bundle")
    if not is_active(host, f"{NAME}.timer"):
        fail(Code.COMPILE_CACHE, f"{NAME}.timer does not run")


def _files(node: Node, cache: CompileCache) -> dict[str, str]:
    return {
        PROGRAM: (node.places.bundle / SOURCE).read_text(encoding="utf-8"),
        f"{_FOLDER}/{NAME}.service": _service(cache),
        f"{_FOLDER}/{NAME}.timer": _TIMER,
    }


def _service(cache: CompileCache) -> str:
    limit = f" --max-gib {cache.max_gib}" if cache.max_gib is not None else ""
    return f"""\
# Written by llm-fleet.
[Unit]
Description=llm-fleet: removal of unused compiled graphs from {_plain(cache.folder)}
RequiresMountsFor={_quoted(cache.folder)}

[Service]
Type=oneshot
ExecStart={sys.executable} -I {PROGRAM} {_quoted(cache.folder)} --max-age-days {cache.max_age_days}{limit}
Nice=19
IOSchedulingClass=idle
TimeoutStartSec=6h
"""


def _plain(text: str) -> str:
    """Return `text` for a unit file, where `%` begins a specifier (systemd.unit(5))."""
    return text.replace("%", "%%")


def _quoted(path: str) -> str:
    """Return `path` as one word of a unit file."""
    return _plain(shlex.quote(path)).replace("$", "$$")
