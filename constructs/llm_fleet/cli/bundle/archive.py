"""The archive of a bundle, and its pieces."""

import io
import json
import os
import re
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from llm_fleet.cli.bundle.redact import Redactor
from llm_fleet.cli.failures import refuse
from llm_fleet.rules.command_codes import LogsCode

Found = str | dict[str, Any] | list[Any]
"""Text, or what is written as JSON."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A file, and how what is in it is found out."""

    name: str
    find: Callable[[], Found]
    """Raises `FleetError` where it cannot be had."""


def written(found: Found, redactor: Redactor) -> str:
    """Return what the file holds, without secrets."""
    if isinstance(found, str):
        return redactor.text(found)
    text = json.dumps(redactor.data(json.loads(json.dumps(found, default=_plain))), indent=2)
    return redactor.text(text) + "\n"


def _plain(value: object) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)  # pyright: ignore


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
        _refuse_unwritable(path, (error.strerror or type(error).__name__).lower())
    finally:
        if scratch is not None:
            Path(scratch).unlink(missing_ok=True)


def safe_name(name: str) -> str:
    """Return a name that a file may have anywhere."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip(".") or "_"


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
