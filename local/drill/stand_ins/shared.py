"""The folder of the machine that all nodes of a cluster see: what file servers hold, and what stand-ins record.

Source: emulation, a folder of this machine in the place of file servers
"""

from collections.abc import Iterable
from pathlib import Path

from local.drill.cluster_view import FileSystem

SHARED = "/srv/drill"
"""Where nodes see it."""


def lay_out(folder: Path, systems: Iterable[FileSystem]) -> Path:
    """Make the folder with what `systems` hold, empty at first; return it.

    `exports`: one line a file system, `kind dns-name export folder`, which the clients' stand-ins go by.
    """
    (folder / "calls").mkdir(parents=True, exist_ok=True)
    (folder / "calls").chmod(0o1777)  # any user of a node may ask a stand-in
    lines: list[str] = []
    for system in systems:
        export = system.mount_name or "fsx"
        content = folder / "file-systems" / system.dns_name
        content.mkdir(parents=True, exist_ok=True)
        lines.append(f"{system.kind} {system.dns_name} {export} {SHARED}/file-systems/{system.dns_name}\n")
    (folder / "exports").write_text("".join(lines))
    return folder
