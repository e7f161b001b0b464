"""The Python that the nodes' image brings for training: this machine's own 3.11, which the lock's wheels are made for.

Debian 13, of which the nodes are, has 3.13 alone. A real image has the interpreter that its fleet file names. What is
laid out is a copy without tests and packages, seen by nodes at `PLACE` and called `python3.11` there; each node proves
that it runs.

Source: emulation, a real interpreter
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.drill.image.prerequisites import MissingPrerequisite
from local.drill.nodes.node import CommandError, Node

PLACE = "/opt/python-3.11"
"""Where nodes see it."""
PROGRAM = "python3.11"
_WANTED = (3, 11)
_LEFT_OUT = ("test", "tests", "idlelib", "tkinter", "turtledemo", "site-packages", "dist-packages", "config-*", "*.a")
_ASK = """
import json, sys, sysconfig
names = ("LIBDIR", "INSTSONAME", "MULTIARCH")
print(json.dumps({"version": sys.version, "prefix": sys.base_prefix, "is": sys.version_info[:2],
                  **{name: sysconfig.get_config_var(name) or "" for name in names}}))
"""
_DEBIAN_WHEELS = Path("/usr/share/python-wheels")
"""Where Debian's ensurepip has pip, which an environment is made with."""
_ON_NODE = f"""
for file in {PLACE}/lib/libpython*.so.*; do [ ! -e "$file" ] || ln -sfn "$file" /usr/lib/; done
[ ! -d {PLACE}/python-wheels ] || ln -sfn {PLACE}/python-wheels {_DEBIAN_WHEELS}
# Not a link: a virtual environment would take the link's folder for the interpreter's home.
printf '#!/bin/sh\\nexec {PLACE}/bin/python3.11 "$@"\\n' >/usr/local/bin/{PROGRAM}
chmod 755 /usr/local/bin/{PROGRAM}
exec {PROGRAM} -I -B -c 'import bz2, ctypes, ensurepip, lzma, ssl, sys, venv, zlib; sys.exit(sys.prefix != "{PLACE}")'
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python of this machine."""

    version: str
    """The version that it prints, with its compiler."""
    program: Path
    library: Path
    """Its standard library's folder."""
    shared_library: Path | None
    """The library that the program loads; `None` where it needs none."""

    @property
    def key(self) -> str:
        """An id that distinguishes it from others."""
        what = f"{self.version} {self.program} {self.program.stat().st_mtime_ns} {','.join(_LEFT_OUT)}"
        return hashlib.sha256(what.encode()).hexdigest()[:12]


def wanted_by(manifest: Mapping[str, Any], folder: Path) -> dict[str, Path]:
    """Return what nodes see of the machine for it, by where: nothing unless an environment of `manifest` names it.

    `folder`: where it is kept. Raises `MissingPrerequisite` where there is none.
    """
    training: dict[str, Any] = manifest.get("training") or {}
    environments: list[dict[str, Any]] = training.get("environments", [])
    return {PLACE: provide(folder)} if any(one["program"] == PROGRAM for one in environments) else {}


def provide(folder: Path, *, programs: tuple[str, ...] = (sys.executable, "python3.11")) -> Path:
    """Return the interpreter's folder below `folder`, copied there first if need be (60 MB, under a second).

    `programs`: where a Python 3.11 is looked for. Raises `MissingPrerequisite` where there is none.
    """
    found = next((one for one in map(_ask, programs) if one is not None), None)
    if found is None:
        raise MissingPrerequisite(
            f"the nodes train with Python {_WANTED[0]}.{_WANTED[1]}, and this machine has none: install it, so that "
            "`python3.11` finds it (it is Debian 12's python3; elsewhere uv or pyenv have it)"
        )
    place = folder / f"python-3.11-{found.key}"
    if not place.exists():
        draft = folder / f".{place.name}.{os.getpid()}"
        shutil.rmtree(draft, ignore_errors=True)
        _copy(found, draft)
        try:
            draft.rename(place)
        except OSError:  # another drill was faster
            shutil.rmtree(draft)
    return place


def put_on(node: Node) -> None:
    """Make the node find the interpreter by its name, and see that it runs there. Raises `MissingPrerequisite`."""
    try:
        node.run("sh", "-ec", _ON_NODE)
    except CommandError as error:
        raise MissingPrerequisite(
            f"this machine's Python 3.11 does not run on the nodes, which are of Debian 13: {error}; take another "
            "build of it, e.g. PYTHON=$(uv python find 3.11)"
        ) from error


def _ask(program: str) -> Interpreter | None:
    """Return what `program` is; `None` where it is no Python 3.11, or nothing."""
    try:
        done = subprocess.run([program, "-I", "-c", _ASK], capture_output=True, text=True, check=False)
    except OSError:
        return None
    if done.returncode:
        return None
    reported: dict[str, Any] = json.loads(done.stdout)
    if tuple(reported["is"]) != _WANTED:
        return None
    prefix = Path(reported["prefix"])
    name, place = reported["INSTSONAME"], Path(reported["LIBDIR"])
    libraries = [folder / name for folder in (prefix / "lib", place, place / reported["MULTIARCH"])]
    return Interpreter(
        version=reported["version"],
        program=(prefix / "bin" / "python3.11").resolve(),
        library=prefix / "lib" / "python3.11",
        shared_library=next((one for one in libraries if ".so" in one.name and one.is_file()), None),
    )


def _copy(found: Interpreter, to: Path) -> None:
    for part in ("bin", "lib"):
        (to / part).mkdir(parents=True)
    shutil.copy2(found.program, to / "bin" / "python3.11")
    (to / "bin" / "python3").symlink_to("python3.11")
    ignore: Callable[..., set[str]] = shutil.ignore_patterns(*_LEFT_OUT)
    shutil.copytree(found.library, to / "lib" / "python3.11", symlinks=True, ignore=ignore)
    if found.shared_library is not None:
        shutil.copy2(found.shared_library, to / "lib")
    if found.library == Path("/usr/lib/python3.11") and _DEBIAN_WHEELS.is_dir():
        shutil.copytree(_DEBIAN_WHEELS, to / "python-wheels")
