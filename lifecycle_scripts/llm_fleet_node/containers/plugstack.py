"""Slurm's list of SPANK plugins, `plugstack.conf` with its includes: pyxis must be in it exactly once.

Loaded twice, it registers its options twice, and every srun prints an error (Slurm 24.11: `option "container-image"
provided by both spank_pyxis.so and spank_pyxis.so`). This happens if an image includes a folder with a pattern, and
a script also adds the file by name.

A controller with `enable_configless` sends only this file and at most the included files in its folder, and does not
expand patterns. There a line of the file itself loads pyxis: assumption: slurm-sends-plugstack-without-patterns
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional

from llm_fleet_node.host import Host

PLUGIN = "spank_pyxis.so"
_FOLDERS = (
    "/usr/local/lib/slurm",
    "/opt/slurm/lib/slurm",
    "/opt/slurm/lib64/slurm",
    "/usr/lib/x86_64-linux-gnu/slurm",
    "/usr/lib/aarch64-linux-gnu/slurm",
    "/usr/lib64/slurm",
    "/usr/lib/slurm",
)
"""Plugin folders of `make install`, of Slurm's own prefix and of distributions."""
_INCLUDE = re.compile(r"^\s*include\s+(\S+)\s*$", re.IGNORECASE)
_DEEPEST = 5
"""Maximum depth of includes, for files that include themselves."""
_TWICE = "# llm-fleet: another line already loads pyxis: "


@dataclass(frozen=True)
class Line:
    """A line of a file, with its number from 0."""

    path: str
    number: int
    text: str


@dataclass(frozen=True)
class Loaded:
    """A line that loads pyxis."""

    line: Line
    include: Optional[Line]
    """The include line of its file; `None` for a line of `plugstack.conf` itself."""


def find_plugin(host: Host) -> Optional[str]:
    """Return the path of the pyxis plugin; `None` if it is not installed."""
    return next((f"{folder}/{PLUGIN}" for folder in _FOLDERS if host.path(f"{folder}/{PLUGIN}").exists()), None)


def times_loaded(host: Host, path: str) -> list[Loaded]:
    """Return the lines of `path` and its includes that load pyxis, in Slurm's order."""
    return _read(host, path, None, _DEEPEST)


def is_right(loaded: list[Loaded], *, configless: bool) -> bool:
    """Return whether pyxis is loaded once; in configless mode, by a line of the file itself."""
    return len(loaded) == 1 and not (configless and loaded[0].include)


def put_pyxis(host: Host, path: str, plugin: str, *, configless: bool) -> None:
    """Make `path` load pyxis once. One line is kept; others are commented out.

    `configless`: nodes get only `path`, so the line must be in it, and a line of an included file is moved there.
    """
    loaded = times_loaded(host, path)
    direct = [item for item in loaded if item.include is None]
    if not loaded or (configless and not direct):
        text = host.read(path) or ""
        ended = text if not text or text.endswith("\n") else f"{text}\n"
        # `required`: a job that requests a container must not run without one.
        line = loaded[0].line.text.strip() if loaded else f"required {plugin}"
        host.write(path, f"{ended}{line}\n")
        loaded = times_loaded(host, path)
        direct = [item for item in loaded if item.include is None]
    # The includes themselves stay: they may load other plugins.
    unwanted = [item.line for item in loaded if item.line != direct[0].line] if configless else surplus(loaded)
    for line in dict.fromkeys(unwanted):
        lines = (host.read(line.path) or "").splitlines()
        lines[line.number] = f"{_TWICE}{line.text}"
        host.write(line.path, "".join(f"{each}\n" for each in lines))


def surplus(loaded: list[Loaded]) -> list[Line]:
    """Return the lines to comment out, so that pyxis is loaded once."""
    first, *others = list(dict.fromkeys(item.line for item in loaded)) or [None]
    includes = [item.include for item in loaded if item.line == first and item.include]
    if len(includes) < 2:
        return [line for line in others if line]
    # One file, included twice: a pattern may include other plugins too, so it stays, and the name is removed.
    kept = next((line for line in includes if "*" in line.text), includes[0])
    again = [line for line in includes if line != kept and ("*" not in line.text or line.text == kept.text)]
    return [*again, *(line for line in others if line)]


def _read(host: Host, path: str, via: Optional[Line], depth: int) -> list[Loaded]:
    found: list[Loaded] = []
    for number, text in enumerate((host.read(path) or "").splitlines()):
        line = Line(path, number, text)
        include = _INCLUDE.match(text)
        if include and depth:
            for included in _included(host, include.group(1)):
                found += _read(host, included, line, depth - 1)
        elif PLUGIN in text.split("#", 1)[0]:
            found.append(Loaded(line, via))
    return found


def _included(host: Host, pattern: str) -> list[str]:
    matches = sorted(host.root.glob(pattern.lstrip("/")))
    return ["/" + str(match.relative_to(host.root)) for match in matches if match.is_file()]
