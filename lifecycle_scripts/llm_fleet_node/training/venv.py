"""Makes a virtual environment of pinned wheels only, without an index and without build scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from llm_fleet_node.failures import Code
from llm_fleet_node.host import CommandFailed
from llm_fleet_node.manifest_parts import Environment
from llm_fleet_node.node import Node
from llm_fleet_node.training import interpreter, pinned, storage
from llm_fleet_node.training.shared_lock import Held

_GROWS = 4
"""Maximum size of an environment as a multiple of its wheels: torch with CUDA needs 2.5 times."""
_MAKE_SECONDS, _INSTALL_SECONDS = 600.0, 5400.0
"""Timeout: tens of thousands of small files over the network take minutes."""
_PROGRAM = "python3"
_NOT_PYTHON = "*** Error compiling"
"""Message of compileall for a file that it skips."""
_QUIET = {"PIP_CONFIG_FILE": "/dev/null"}
"""With this, pip reads no configuration of the image, which could set an index (pip, "Configuration")."""


def build(node: Node, environment: Environment, prefix: Path, held: Held) -> dict[str, Any]:
    """Make the environment in the new folder `prefix`; return its packages. Raises `Failure`."""
    python = interpreter.find(node.host, environment.program or _PROGRAM)
    files = pinned.files_of(node, environment)
    interpreter.check_wheels(python, [file.url.rsplit("/", 1)[-1] for file in files])
    size = sum(file.size for file in files)
    storage.check_room(prefix.parent, _GROWS * size, f"{environment.name} of {size} bytes of wheels")
    held.doing(f"downloading {len(files)} wheels ({size >> 20} MiB)")
    wheels = pinned.fetch(node, files)
    held.doing(f"installing {len(files)} wheels ({size >> 20} MiB)")
    _make(node, python, prefix)
    _install(node, prefix, wheels)
    _compile(node, prefix)
    installed = {file.name: {"version": file.version, "sha256": file.sha256} for file in files}
    return {"python": python.reported, "files": installed}


def _make(node: Node, python: interpreter.Interpreter, prefix: Path) -> None:
    try:
        node.host.run(python.path, "-I", "-m", "venv", str(prefix), timeout=_MAKE_SECONDS, changes=f"made {prefix}")
    except CommandFailed as error:
        storage.fail_by_command(Code.INTERPRETER, error, str(prefix))


def _install(node: Node, prefix: Path, wheels: list[Path]) -> None:
    """Install exactly the files `wheels`, without an index."""
    if not wheels:
        return
    folders = sorted({str(wheel.parent) for wheel in wheels})
    try:
        node.host.run(
            *(f"{prefix}/bin/python", "-I", "-m", "pip", "--isolated", "--disable-pip-version-check", "--no-input"),
            *("install", "--no-compile", "--no-index", "--no-deps", "--no-cache-dir", "--only-binary", ":all:"),
            *(option for folder in folders for option in ("--find-links", folder)),
            *map(str, wheels),
            timeout=_INSTALL_SECONDS,
            env=_QUIET,
            changes=f"installed {len(wheels)} wheels into {prefix}",
        )
    except CommandFailed as error:
        storage.fail_by_command(Code.WHEELS, error, str(prefix))


def _compile(node: Node, prefix: Path) -> None:
    """Compile all modules, on all processors: jobs cannot write there, and would compile them at each start.

    Some packages have files that cannot be compiled, e.g. templates: they are skipped, as in pip.
    """
    try:
        node.host.run(
            *(f"{prefix}/bin/python", "-I", "-m", "compileall", "-q", "-j", "0", f"{prefix}/lib"),
            timeout=_MAKE_SECONDS,
            changes=f"compiled the modules in {prefix}",
        )
    except CommandFailed as error:
        if storage.is_full(error) or _NOT_PYTHON not in error.output:
            storage.fail_by_command(Code.WHEELS, error, str(prefix))
