"""The folder of the machine that all nodes of a cluster see: content of file servers, and records of stand-ins.

Source: emulation, a folder of this machine in the place of file servers
"""

from collections.abc import Iterable
from pathlib import Path

from llm_fleet_local.drill.cluster_view import FileSystem

SHARED = "/srv/drill"
"""Its path on nodes."""


def lay_out(folder: Path, systems: Iterable[FileSystem]) -> Path:
    """Create the folder, with an empty folder for each of `systems`; return it.

    Its file `exports`, which the stand-ins of clients read, has a line per file system: `kind dns-name export folder`.
    """
    (folder / "calls").mkdir(parents=True, exist_ok=True)
    (folder / "calls").chmod(0o1777)  # any user of a node may run a stand-in
    lines: list[str] = []
    for system in systems:
        export = system.mount_name or "fsx"
        content = folder / "file-systems" / system.dns_name
        content.mkdir(parents=True, exist_ok=True)
        lines.append(f"{system.kind} {system.dns_name} {export} {SHARED}/file-systems/{system.dns_name}\n")
    (folder / "exports").write_text("".join(lines))
    return folder
