"""Python for training on nodes: a copy of this machine's Python 3.11, for which the lock's wheels are built.

The nodes run Debian 13, which has only Python 3.13. A real image has the interpreter that its fleet file names. The
copy has no tests and packages; nodes see it at `PLACE` as `python3.11`, and each node checks that it runs.

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

from llm_fleet_local.drill.image.prerequisites import MissingPrerequisite
from llm_fleet_local.drill.nodes.node import CommandError, Node

PLACE = "/opt/python-3.11"
"""Its path on nodes."""
VERSION = "3.11"
PROGRAM = f"python{VERSION}"
_WANTED = (3, 11)
_LEFT_OUT = ("test", "tests", "idlelib", "tkinter", "turtledemo", "site-packages", "dist-packages", "config-*", "*.a")
_ASK = """
import json, sys, sysconfig
names = ("LIBDIR", "INSTSONAME", "MULTIARCH")
print(json.dumps({"version": sys.version, "prefix": sys.base_prefix, "is": sys.version_info[:2],
                  **{name: sysconfig.get_config_var(name) or "" for name in names}}))
"""
_DEBIAN_WHEELS = Path("/usr/share/python-wheels")
"""Folder of the wheel of pip that Debian's ensurepip installs into an environment."""
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
    """Its `sys.version`, which includes the compiler."""
    program: Path
    library: Path
    """Folder of its standard library."""
    shared_library: Path | None
    """The shared library that the program loads; `None` if it needs none."""

    @property
    def key(self) -> str:
        """An id that distinguishes it from others."""
        what = f"{self.version} {self.program} {self.program.stat().st_mtime_ns} {','.join(_LEFT_OUT)}"
        return hashlib.sha256(what.encode()).hexdigest()[:12]


def wanted_by(manifest: Mapping[str, Any], folder: Path) -> dict[str, Path]:
    """Return the folders of the machine for nodes, by mount point: empty unless an environment of `manifest` names it.

    `folder`: parent folder of the copy. Raises `MissingPrerequisite` if this machine has no Python 3.11.
    """
    training: dict[str, Any] = manifest.get("training") or {}
    environments: list[dict[str, Any]] = training.get("environments", [])
    return {PLACE: provide(folder)} if any(one["program"] == PROGRAM for one in environments) else {}


def provide(folder: Path, *, programs: tuple[str, ...] = (sys.executable, "python3.11")) -> Path:
    """Return the interpreter's folder in `folder`; it is copied first if it does not exist (60 MB, under a second).

    `programs`: candidates for a Python 3.11. Raises `MissingPrerequisite` if none is one.
    """
    found = next((one for one in map(_ask, programs) if one is not None), None)
    if found is None:
        raise MissingPrerequisite(
            f"nodes train with Python {_WANTED[0]}.{_WANTED[1]}, which this machine does not have",
            "install it, so that `python3.11` finds it (python3 of Debian 12, or with uv or pyenv)",
        )
    place = folder / f"python-3.11-{found.key}"
    if not place.exists():
        draft = folder / f".{place.name}.{os.getpid()}"
        shutil.rmtree(draft, ignore_errors=True)
        _copy(found, draft)
        try:
            draft.rename(place)
        except OSError:  # another drill has copied it meanwhile
            shutil.rmtree(draft)
    return place


def put_on(node: Node) -> None:
    """Add the interpreter to the node's PATH, and check that it runs. Raises `MissingPrerequisite`."""
    try:
        node.run("sh", "-ec", _ON_NODE)
    except CommandError as error:
        raise MissingPrerequisite(
            f"this machine's Python 3.11 does not run on the nodes, which have Debian 13: {error}",
            "use another build of it: install llm-fleet with the Python that `uv python find 3.11` prints",
        ) from error


def _ask(program: str) -> Interpreter | None:
    """Return the interpreter `program`; `None` if it is not Python 3.11 or does not exist."""
    try:
        done = subprocess.run([program, "-I", "-c", _ASK], capture_output=True, text=True, check=False)
    except OSError:
        return None
    if done.returncode:
        return None
    facts: dict[str, Any] = json.loads(done.stdout)
    if tuple(facts["is"]) != _WANTED:
        return None
    prefix = Path(facts["prefix"])
    name, place = facts["INSTSONAME"], Path(facts["LIBDIR"])
    libraries = [folder / name for folder in (prefix / "lib", place, place / facts["MULTIARCH"])]
    return Interpreter(
        version=facts["version"],
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
