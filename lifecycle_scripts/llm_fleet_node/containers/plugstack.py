"""Slurm's list of SPANK plugins, `plugstack.conf`, with what it includes: pyxis must be in it once.

Loaded twice, it registers its options twice, and every srun complains of it (Slurm 24.11: `option "container-image"
provided by both spank_pyxis.so and spank_pyxis.so`). That happens where an image includes a folder of files by a
pattern, and a script then adds the same file by its name.

A controller with `enable_configless` sends this one file, and of what it includes at most what lies beside it; patterns
it cannot expand. There pyxis is loaded by a line of the file itself: assumption: slurm-sends-plugstack-without-patterns
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
"""Where `make install`, Slurm's own prefix and distributions put plugins."""
_INCLUDE = re.compile(r"^\s*include\s+(\S+)\s*$", re.IGNORECASE)
_DEEPEST = 5
"""Files that include themselves end here."""
_TWICE = "# llm-fleet: pyxis is loaded by another line already: "


@dataclass(frozen=True)
class Line:
    """A line of a file, by its place."""

    path: str
    number: int
    text: str


@dataclass(frozen=True)
class Loaded:
    """Pyxis, loaded once."""

    line: Line
    include: Optional[Line]
    """The include that led there; `None` for a line of `plugstack.conf` itself."""


def find_plugin(host: Host) -> Optional[str]:
    """Return where pyxis is installed; `None` without it."""
    return next((f"{folder}/{PLUGIN}" for folder in _FOLDERS if host.path(f"{folder}/{PLUGIN}").exists()), None)


def times_loaded(host: Host, path: str) -> list[Loaded]:
    """Return how `path`, with what it includes, loads pyxis, in the order in which Slurm reads it."""
    return _read(host, path, None, _DEEPEST)


def is_right(loaded: list[Loaded], *, configless: bool) -> bool:
    """Return whether pyxis is loaded once, and where the file is sent to the nodes, by a line of the file itself."""
    return len(loaded) == 1 and not (configless and loaded[0].include)


def put_pyxis(host: Host, path: str, plugin: str, *, configless: bool) -> None:
    """Make `path` load pyxis once. One line that does stays; others are commented out.

    `configless`: nodes get `path` alone, so the line is to be in it, and one of a file that it includes is moved there.
    """
    loaded = times_loaded(host, path)
    direct = [item for item in loaded if item.include is None]
    if not loaded or (configless and not direct):
        text = host.read(path) or ""
        ended = text if not text or text.endswith("\n") else f"{text}\n"
        # `required`: a job that asks for a container must not run without one.
        line = loaded[0].line.text.strip() if loaded else f"required {plugin}"
        host.write(path, f"{ended}{line}\n")
        loaded = times_loaded(host, path)
        direct = [item for item in loaded if item.include is None]
    # The includes themselves stay: they may bring other plugins.
    unwanted = [item.line for item in loaded if item.line != direct[0].line] if configless else surplus(loaded)
    for line in dict.fromkeys(unwanted):
        lines = (host.read(line.path) or "").splitlines()
        lines[line.number] = f"{_TWICE}{line.text}"
        host.write(line.path, "".join(f"{each}\n" for each in lines))


def surplus(loaded: list[Loaded]) -> list[Line]:
    """Return the lines without which pyxis would be loaded once."""
    first, *others = list(dict.fromkeys(item.line for item in loaded)) or [None]
    includes = [item.include for item in loaded if item.line == first and item.include]
    if len(includes) < 2:
        return [line for line in others if line]
    # One file, included twice: a pattern may bring other plugins too, so it stays, and the file's own name goes.
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
