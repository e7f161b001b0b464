"""Writes a file whole or not at all."""

import os
import tempfile
from pathlib import Path

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError, Problem


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
        raise _error(path, Code.OUTPUT_EXISTS, message, "name another, or add --force") from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        message = f"the file cannot be written: {reason}"
        raise _error(path, Code.OUTPUT_UNWRITABLE, message, "name another place") from None
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
        raise _error(path, Code.OUTPUT_UNWRITABLE, f"a {what} of this name is there already", "name another place")
    return place


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def _error(path: Path, code: Code, message: str, remedy: str) -> FleetError:
    return FleetError([Problem(code=code, message=message, remedy=remedy)], subject=str(path))
