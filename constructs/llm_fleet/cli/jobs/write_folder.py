"""Writes files of one folder, all or none."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from llm_fleet.cli.atomic_write import write_file
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError, Problem


def write_folder(folder: Path, files: Mapping[str, str], *, force: bool) -> None:
    """Write `files` (text by name) into `folder`, which is made; raise `FleetError` (LF160, LF161) when it cannot be.

    A folder with something in it is left alone, but with `force`: then the files take the place of those of the same
    names, one by one, and others stay.
    """
    try:
        scratch = Path(tempfile.mkdtemp(dir=_parent(folder), prefix=".llm-fleet-"))
    except OSError as error:
        raise _unwritable(folder, error) from None
    try:
        for name, text in files.items():
            write_file(scratch / name, text, force=False)
        _put(scratch, folder, files, force=force)
    except OSError as error:
        raise _unwritable(folder, error) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _parent(folder: Path) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True)
    return folder.parent


def _put(scratch: Path, folder: Path, files: Mapping[str, str], *, force: bool) -> None:
    occupied = folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir())))
    if occupied and not force:
        message = "there is something of this name already"
        problem = Problem(code=Code.OUTPUT_EXISTS, message=message, remedy="name another folder, or add --force")
        raise FleetError([problem], subject=str(folder))
    if occupied:
        for name, text in files.items():
            write_file(folder / name, text, force=True)
        return
    scratch.chmod(0o755)
    scratch.rename(folder)  # Takes the place of an empty folder, too, and of nothing else.


def _unwritable(folder: Path, error: OSError) -> FleetError:
    reason = (error.strerror or type(error).__name__).lower()
    message = f"the folder cannot be written: {reason}"
    problem = Problem(code=Code.OUTPUT_UNWRITABLE, message=message, remedy="name another place")
    return FleetError([problem], subject=str(folder))
