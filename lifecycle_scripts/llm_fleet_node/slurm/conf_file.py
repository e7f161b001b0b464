"""Reads slurm.conf with its includes, as Slurm does."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional

from llm_fleet_node.host import Host
from llm_fleet_node.marked_block import with_block

NAME = "slurm.conf"
OURS = "llm-fleet.conf"
"""File with all settings of llm-fleet. It is included in slurm.conf, which can be the platform's."""
BLOCK = "slurm"
"""Name of the marked block in slurm.conf that includes it."""

_PAIR = re.compile(r'(\w+)\s*=\s*("[^"]*"|\S*)')
_INCLUDE = re.compile(r"\s*include\s+(\S+)\s*$", re.IGNORECASE)
_DEEPEST = 5
"""Maximum depth of includes, for files that include themselves."""


@dataclass(frozen=True)
class ConfFile:
    """The content of slurm.conf, in the order in which Slurm reads it."""

    lines: tuple[tuple[tuple[str, str], ...], ...]
    """The `Key=value` pairs of each line, with keys in lower case."""
    includes: tuple[str, ...]
    """Paths of the included files, existing or not; Slurm also accepts relative names."""
    etc: str = ""
    """The folder of relative names."""

    def does_include(self, name: str) -> bool:
        """Return whether it includes the file `name` of its folder, by its name or by its path."""
        return _path(self.etc, name) in self.includes

    def value(self, key: str) -> Optional[str]:
        """Return the last value of `key`, as in Slurm; `None` if it is not set."""
        values = self.values(key)
        return values[-1] if values else None

    def values(self, key: str) -> list[str]:
        """Return all values of a `key` that can be set several times, such as `Prolog`."""
        wanted = key.lower()
        return [value for line in self.lines for name, value in line if name == wanted]

    def items(self, key: str) -> tuple[str, ...]:
        """Return the values of a list like `SlurmctldParameters`."""
        return tuple(item for item in (self.value(key) or "").split(",") if item)

    def every(self, key: str) -> list[dict[str, str]]:
        """Return the lines that begin with `key`, e.g. `NodeName`, as their pairs."""
        wanted = key.lower()
        return [dict(line) for line in self.lines if line[0][0] == wanted]


def read(host: Host, etc: str, *, ours: bool = True) -> Optional[ConfFile]:
    """Return slurm.conf of the folder `etc` with its includes; `None` if missing. `ours`: with our block."""
    text = host.read(f"{etc}/{NAME}")
    if text is None:
        return None
    lines: list[tuple[tuple[str, str], ...]] = []
    includes: list[str] = []
    _read_into(lines, includes, host, etc, text if ours else with_block(text, BLOCK, ""), _DEEPEST)
    return ConfFile(tuple(lines), tuple(includes), etc)


def _read_into(
    lines: list[tuple[tuple[str, str], ...]],
    includes: list[str],
    host: Host,
    etc: str,
    text: str,
    depth: int,
) -> None:
    for line in text.replace("\\\n", " ").splitlines():
        plain = line.split("#", 1)[0]
        include = _INCLUDE.match(plain)
        if include:
            path = _path(etc, include.group(1))
            includes.append(path)
            more = host.read(path)
            if more is not None and depth:
                _read_into(lines, includes, host, etc, more, depth - 1)
            continue
        pairs = tuple((name.lower(), value.strip('"')) for name, value in _PAIR.findall(plain))
        if pairs:
            lines.append(pairs)


def _path(etc: str, name: str) -> str:
    return posixpath.normpath(name if name.startswith("/") else f"{etc}/{name}")


def rendered(settings: Mapping[str, str], *, why: str) -> str:
    """Return the text of a file with `settings`, one on each line."""
    return "".join([f"# {why}\n", *(f"{key}={value}\n" for key, value in settings.items())])
