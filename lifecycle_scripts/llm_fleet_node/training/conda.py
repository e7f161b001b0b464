"""Makes a Conda prefix of pinned archives, without any channel.

An explicit list of files is installed without a solver or downloads (conda, "Managing environments", explicit
specifications). conda, mamba and micromamba take the same options.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llm_fleet_node.downloads import CACHE
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed
from llm_fleet_node.manifest_parts import Environment
from llm_fleet_node.node import Node
from llm_fleet_node.training import interpreter, pinned, storage
from llm_fleet_node.training.shared_lock import Held

_PROGRAM = "conda"
_GROWS = 5
"""Maximum size of a prefix as a multiple of its archives, which have a higher compression than wheels."""
_SECONDS = 5400.0
_UNPACKED = f"{CACHE}/conda"
"""Folder where archives are unpacked, on the node's own disk; removed afterwards."""
_ENDINGS = (".conda", ".tar.bz2")


def build(node: Node, environment: Environment, prefix: Path, held: Held) -> dict[str, Any]:
    """Make the new prefix; return its packages. Raises `Failure`."""
    program = _find(node, environment.program or _PROGRAM)
    files = pinned.files_of(node, environment)
    size = sum(file.size for file in files)
    storage.check_room(prefix.parent, _GROWS * size, f"{environment.name} of {size} bytes of archives")
    held.doing(f"downloading {len(files)} archives ({size >> 20} MiB)")
    archives = pinned.fetch(node, files)
    held.doing(f"installing {len(files)} archives ({size >> 20} MiB)")
    _create(node, program, prefix, archives)
    _check(prefix, archives)
    version = interpreter.ask(node.host, f"{prefix}/bin/python")
    installed = {file.name: {"version": file.version, "sha256": file.sha256} for file in files}
    return {"python": ".".join(map(str, version)), "files": installed}


def _find(node: Node, name: str) -> str:
    found = str(node.host.path(name)) if name.startswith("/") else node.host.which(name)
    if found is None or not Path(found).is_file():
        fail(Code.CONDA, f"this node has no {name}, which is required to make the environment", final=True)
    return found


def _create(node: Node, program: str, prefix: Path, archives: Sequence[Path]) -> None:
    unpacked = node.host.path(_UNPACKED)
    shutil.rmtree(unpacked, ignore_errors=True)  # of a killed run
    unpacked.mkdir(parents=True)
    listed = unpacked / "explicit.txt"
    listed.write_text("@EXPLICIT\n" + "".join(f"file://{archive}\n" for archive in archives), encoding="utf-8")
    try:
        node.host.run(
            *(program, "create", "--offline", "--yes", "--quiet", "--prefix", str(prefix), "--file", str(listed)),
            timeout=_SECONDS,
            # Packages are copied, not linked, because they are unpacked on another file system.
            env={"CONDA_PKGS_DIRS": str(unpacked), "CONDA_ALWAYS_COPY": "true", "MAMBA_ROOT_PREFIX": str(unpacked)},
            changes=f"made {prefix}",
        )
    except CommandFailed as error:
        storage.fail_by_command(Code.CONDA, error, str(prefix))
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)


def _check(prefix: Path, archives: Sequence[Path]) -> None:
    """Raise `Failure` unless conda-meta of the prefix lists all archives."""
    stems = (archive.name[: -len(end)] for archive in archives for end in _ENDINGS if archive.name.endswith(end))
    missing = [stem for stem in stems if not (prefix / "conda-meta" / f"{stem}.json").is_file()]
    if missing:
        fail(Code.CONDA, f"{prefix}/conda-meta does not list {', '.join(missing)}", final=True)
