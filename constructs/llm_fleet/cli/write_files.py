"""Writes files, folders and archives whole or not at all."""

import io
import os
import shutil
import tarfile
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from llm_fleet.cli.verb import refuse
from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import LogsCode


def write_file(path: Path, text: str, *, force: bool) -> None:
    """Write `text` to `path` in one step; raise `FleetError` (LF160, LF161) when that cannot be done.

    Without `force` a file that is there already stays as it is, even one that appears in the meantime. Nothing but a
    regular file is ever replaced: put in the place of `/dev/null`, a file would break the machine. What a link leads
    to is replaced, not the link.
    """
    if force:
        path = _replaceable(path)
    scratch: Path | None = None
    try:
        with tempfile.NamedTemporaryFile("wb", dir=path.parent, prefix=".llm-fleet-", delete=False) as file:
            scratch = Path(file.name)
            file.write(text.encode())
        scratch.chmod(0o666 & ~_umask())
        if force:
            os.replace(scratch, path)
        else:
            os.link(scratch, path)  # Unlike a rename, a link never takes the place of a file.
    except FileExistsError:
        message = "there is a file of this name already"
        refuse(Code.OUTPUT_EXISTS, message, "name another, or add --force", subject=str(path))
    except OSError as error:
        message = f"the file cannot be written: {reason_of(error)}"
        refuse(Code.OUTPUT_UNWRITABLE, message, "name another place", subject=str(path))
    finally:
        if scratch is not None:
            scratch.unlink(missing_ok=True)


def _replaceable(path: Path) -> Path:
    """Return the place behind `path`; refuse one where something other than a regular file stands."""
    try:
        place = path.resolve()
        in_the_way = place.exists() and not place.is_file()
    except (OSError, RuntimeError, ValueError):  # E.g. links in a circle; writing tells what it is.
        return path
    if in_the_way:
        what = "directory" if place.is_dir() else "device, pipe or socket"
        message = f"a {what} of this name is there already"
        refuse(Code.OUTPUT_UNWRITABLE, message, "name another place", subject=str(path))
    return place


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def reason_of(error: OSError) -> str:
    """Return why the system refuses, to follow a colon."""
    return (error.strerror or type(error).__name__).lower()


def write_folder(folder: Path, files: Mapping[str, str], *, force: bool) -> None:
    """Write `files` (text by name) into `folder`, which is made; raise `FleetError` (LF160, LF161) when it cannot be.

    A folder with something in it is left alone, but with `force`: then the files take the place of those of the same
    names, one by one, and others stay.
    """
    scratch: Path | None = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".llm-fleet-"))
        for name, text in files.items():
            write_file(scratch / name, text, force=False)
        _put(scratch, folder, files, force=force)
    except OSError as error:
        message = f"the folder cannot be written: {reason_of(error)}"
        refuse(Code.OUTPUT_UNWRITABLE, message, "name another place", subject=str(folder))
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)


def _put(scratch: Path, folder: Path, files: Mapping[str, str], *, force: bool) -> None:
    occupied = folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir())))
    if occupied and not force:
        message = "there is something of this name already"
        refuse(Code.OUTPUT_EXISTS, message, "name another folder, or add --force", subject=str(folder))
    if occupied:
        for name, text in files.items():
            write_file(folder / name, text, force=True)
        return
    scratch.chmod(0o755)
    scratch.rename(folder)  # Takes the place of an empty folder, too, and of nothing else.


_OWNER_ONLY = 0o600


def check_place(path: Path) -> None:
    """Refuse a place that is taken or is in no folder (LF1140, LF1141): before minutes of asking."""
    if os.path.lexists(path):
        _refuse_taken(path)
    if not path.parent.is_dir():
        _refuse_unwritable(path, f"there is no folder {path.parent}")


def write_archive(path: Path, files: Mapping[str, str]) -> None:
    """Write `files`, text by name, to a new `path`. Nothing is left behind when that is not done, by Ctrl-C neither.

    Raises `FleetError` (LF1140, LF1141).
    """
    scratch: str | None = None
    try:
        # Made with mode 0600 by mkstemp: at no moment may others read it.
        handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=".llm-fleet-", suffix=".tar.gz")
        with os.fdopen(handle, "wb") as file:
            _fill(file, path.name.partition(".")[0], files)
            file.flush()
            os.fsync(file.fileno())
        os.link(scratch, path)  # Unlike a rename, a link never takes the place of a file.
    except FileExistsError:
        _refuse_taken(path)
    except OSError as error:
        _refuse_unwritable(path, reason_of(error))
    finally:
        if scratch is not None:
            Path(scratch).unlink(missing_ok=True)


def _fill(file: io.BufferedIOBase, folder: str, files: Mapping[str, str]) -> None:
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, text in files.items():
            data = text.encode("utf-8", "backslashreplace")
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size, member.mode, member.mtime = len(data), _OWNER_ONLY, int(time.time())
            archive.addfile(member, io.BytesIO(data))


def _refuse_taken(path: Path) -> NoReturn:
    refuse(LogsCode.BUNDLE_EXISTS, "there is a file of this name already", "name another with -o", subject=str(path))


def _refuse_unwritable(path: Path, why: str) -> NoReturn:
    message = f"the bundle cannot be written: {why}"
    refuse(LogsCode.BUNDLE_UNWRITABLE, message, "name another place with -o", subject=str(path))
