"""Writes the settings of ssh into a file of their own."""

import os
import re
from pathlib import Path

from llm_fleet.cli.atomic_write import write_file
from llm_fleet.cli.connect.ssh_config import FOLDER
from llm_fleet.cli.failure import refuse
from llm_fleet.rules.day_two.nodes_codes import NodesCode

_OWN_FOLDER = 0o700
_OWN_FILE = 0o600
INCLUDE = f"Include {FOLDER}/*.conf"
_INCLUDE = re.compile(rf"^\s*include\s.*\b{FOLDER}/", re.IGNORECASE | re.MULTILINE)


def write_ssh_file(text: str, *, name: str, home: Path) -> tuple[Path, bool]:
    """Write `text` for the cluster `name` below `home`, whole or not at all, for its owner only.

    Returns the file, and whether ~/.ssh/config includes it. That is the person's own and is not touched. Raises
    `FleetError` (LF1113, LF161).
    """
    ssh = home / ".ssh"
    path = ssh / FOLDER / f"{name}.conf"
    try:
        for folder in (ssh, ssh / FOLDER):
            folder.mkdir(mode=_OWN_FOLDER, exist_ok=True)
        before = os.umask(0o777 & ~_OWN_FILE)
        try:
            write_file(path, text, force=True)
        finally:
            os.umask(before)
        return path, _is_included(ssh / "config")
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        remedy = "see who owns ~/.ssh; without --write the settings are printed"
        refuse(NodesCode.SSH_FILE, f"the file cannot be written: {reason}", remedy, subject=str(path))


def _is_included(config: Path) -> bool:
    try:
        return bool(_INCLUDE.search(config.read_text(encoding="utf-8", errors="replace")))
    except FileNotFoundError:
        return False
