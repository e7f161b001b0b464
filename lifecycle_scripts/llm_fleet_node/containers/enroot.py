"""Enroot's folders for images and containers: in its configuration, and in effect.

Enroot reads `enroot.conf` line by line, `KEY value`, with shell expansion; the first line of a key takes effect, and
the environment comes before both (`enroot.in`, `config::init`). Newer versions also read `enroot.conf.d/*.conf`. So our
lines come first in `enroot.conf`, contradicting lines are commented out, and a drop-in has the same lines if that
folder exists: the result does not depend on the order in which a version reads them.
"""

from __future__ import annotations

import re

from llm_fleet_node.disks.layout import Layout
from llm_fleet_node.host import Host
from llm_fleet_node.marked_block import with_block

FOLDER = "/etc/enroot"
CONF = f"{FOLDER}/enroot.conf"
DROP_INS = f"{FOLDER}/enroot.conf.d"
_DROP_IN = f"{DROP_INS}/90-llm-fleet.conf"
_BLOCK = "where large data goes"
_LINE = re.compile(r"^\s*(ENROOT_[A-Z_]+)[ \t=]+(.*?)\s*$")
_WAS = "# llm-fleet: was: "


def wanted(layout: Layout) -> dict[str, str]:
    """Return the settings. Each user has a folder, which Enroot creates with mode 0700."""
    enroot = layout.enroot_data.rsplit("/", 1)[0]
    user = "user-$(id -u)"
    return {
        "ENROOT_DATA_PATH": f"{layout.enroot_data}/{user}",
        "ENROOT_CACHE_PATH": f"{layout.enroot_cache}/{user}",
        # Not in /run: an image that is started without unpacking writes there, which would use memory of jobs.
        "ENROOT_RUNTIME_PATH": f"{enroot}/runtime/{user}",
        "ENROOT_TEMP_PATH": f"{enroot}/temp",
    }


def put_settings(host: Host, layout: Layout) -> None:
    """Write the settings, and make the folders that the step `disks` does not make; all other lines are kept."""
    settings = wanted(layout)
    for name in ("ENROOT_RUNTIME_PATH", "ENROOT_TEMP_PATH"):
        host.folder(settings[name].split("/user-")[0], mode=0o1777)
    lines = "".join(f"{name} {value}\n" for name, value in settings.items())
    before = host.read(CONF) or ""
    others = with_block(before, _BLOCK, "")
    host.write(CONF, with_block(_without(others, settings), _BLOCK, lines, first=True))
    for path in _drop_ins(host):
        host.write(path, _without(host.read(path) or "", settings))
    if host.path(DROP_INS).is_dir():
        host.write(_DROP_IN, f"# Written by llm-fleet; the same as in {CONF}.\n{lines}")


def contradictions(host: Host, layout: Layout) -> list[str]:
    """Describe the lines of Enroot's files that contradict the settings, and the missing settings."""
    settings = wanted(layout)
    problems: list[str] = []
    missing = set(settings)
    for path in (CONF, *_drop_ins(host), _DROP_IN):
        for name, value in _settings(host.read(path) or ""):
            if name in settings and value != settings[name]:
                problems.append(f"{path} sets {name} to {value}")
            if path == CONF:
                missing.discard(name)
    return problems + [f"{CONF} does not set {name}" for name in sorted(missing)]


def try_it(host: Host) -> None:
    """Run Enroot in an environment in which it works only with the configured folders.

    Enroot first makes its folders. Its default here would be below `/dev/null`, where it cannot make any.
    Raises `CommandFailed` if it used the default.
    """
    nowhere = {name: "/dev/null/nowhere" for name in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")}
    host.run("enroot", "list", env={**nowhere, "XDG_CONFIG_HOME": "/dev/null/nowhere"})


def _drop_ins(host: Host) -> list[str]:
    """Return the drop-ins that llm-fleet did not write."""
    found = (f"{DROP_INS}/{path.name}" for path in sorted(host.path(DROP_INS).glob("*.conf")))
    return [path for path in found if path != _DROP_IN]


def _settings(text: str) -> list[tuple[str, str]]:
    found = (_LINE.match(line) for line in text.splitlines())
    return [(match.group(1), match.group(2)) for match in found if match]


def _without(text: str, settings: dict[str, str]) -> str:
    lines: list[str] = []
    for line in text.splitlines():
        match = _LINE.match(line)
        lines.append(f"{_WAS}{line}" if match and match.group(1) in settings else line)
    return "".join(f"{line}\n" for line in lines)
