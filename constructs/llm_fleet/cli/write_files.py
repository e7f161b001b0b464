"""Writes files, directories and archives atomically."""

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
    """Write `text` to `path` atomically; raise `FleetError` (LF160, LF161) if that fails.

    Without `force` an existing file is not changed, even one that appears in the meantime. Only regular files are
    replaced: a regular file instead of `/dev/null` would break the machine. The target of a link is replaced, not the
    link.
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
            os.link(scratch, path)  # Unlike a rename, a link never replaces a file.
    except FileExistsError:
        message = "the file exists"
        refuse(Code.OUTPUT_EXISTS, message, "choose another name, or add --force", subject=str(path))
    except OSError as error:
        message = f"cannot write the file: {reason_of(error)}"
        refuse(Code.OUTPUT_UNWRITABLE, message, "choose another path", subject=str(path))
    finally:
        if scratch is not None:
            scratch.unlink(missing_ok=True)


def _replaceable(path: Path) -> Path:
    """Return `path` without links; refuse one that exists and is not a regular file."""
    try:
        place = path.resolve()
        in_the_way = place.exists() and not place.is_file()
    except (OSError, RuntimeError, ValueError):  # E.g. circular links, which writing reports.
        return path
    if in_the_way:
        what = "directory" if place.is_dir() else "device, pipe or socket"
        message = f"a {what} with this name exists"
        refuse(Code.OUTPUT_UNWRITABLE, message, "choose another path", subject=str(path))
    return place


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def reason_of(error: OSError) -> str:
    """Return the reason of the operating system, for the text after a colon."""
    return (error.strerror or type(error).__name__).lower()


def write_folder(folder: Path, files: Mapping[str, str], *, force: bool) -> None:
    """Write `files` (text by relative path) into the new `folder`; raise `FleetError` (LF160, LF161) if that fails.

    A directory that is not empty is only changed with `force`: then files of the same names are replaced one by one,
    and others stay.
    """
    scratch: Path | None = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".llm-fleet-"))
        for name, text in files.items():
            (scratch / name).parent.mkdir(parents=True, exist_ok=True)
            write_file(scratch / name, text, force=False)
        _put(scratch, folder, files, force=force)
    except OSError as error:
        message = f"cannot write the directory: {reason_of(error)}"
        refuse(Code.OUTPUT_UNWRITABLE, message, "choose another path", subject=str(folder))
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)


def _put(scratch: Path, folder: Path, files: Mapping[str, str], *, force: bool) -> None:
    occupied = folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir())))
    if occupied and not force:
        message = "the directory exists and is not empty"
        refuse(Code.OUTPUT_EXISTS, message, "choose another directory, or add --force", subject=str(folder))
    if occupied:
        for name, text in files.items():
            write_file(folder / name, text, force=True)
        return
    scratch.chmod(0o755)
    scratch.rename(folder)  # Replaces an empty directory, and nothing else.


_OWNER_ONLY = 0o600


def check_place(path: Path) -> None:
    """Refuse a path that exists or has no parent directory (LF1140, LF1141), before minutes of calls."""
    if os.path.lexists(path):
        _refuse_taken(path)
    if not path.parent.is_dir():
        _refuse_unwritable(path, f"the directory {path.parent} does not exist")


def write_archive(path: Path, files: Mapping[str, str]) -> None:
    """Write `files`, text by name, to a new archive `path`. A failure or Ctrl-C leaves no file.

    Raises `FleetError` (LF1140, LF1141).
    """
    scratch: str | None = None
    try:
        # mkstemp creates it with mode 0600, so that others can never read it.
        handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=".llm-fleet-", suffix=".tar.gz")
        with os.fdopen(handle, "wb") as file:
            _fill(file, path.name.partition(".")[0], files)
            file.flush()
            os.fsync(file.fileno())
        os.link(scratch, path)  # Unlike a rename, a link never replaces a file.
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
    refuse(LogsCode.BUNDLE_EXISTS, "the file exists", "choose another name with -o", subject=str(path))


def _refuse_unwritable(path: Path, why: str) -> NoReturn:
    message = f"cannot write the bundle: {why}"
    refuse(LogsCode.BUNDLE_UNWRITABLE, message, "choose another path with -o", subject=str(path))
