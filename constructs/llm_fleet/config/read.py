"""Gets the text of a fleet file, or says in one sentence why there is none."""

from pathlib import Path

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError, Problem

SIZE_LIMIT = 1024 * 1024
"""Bytes. A fleet of 100 groups with everything set is a tenth of it."""

_INSTEAD = "give the path of a fleet file; `examples/hyperpod-trn1.yaml` is one to start from"


def read_text(path: Path, *, noun: str = "fleet file") -> str:
    """Return the text of the file at `path`; raise `FleetError` (LF101 to LF103) when there is none to read.

    The size is asked for before anything is read, and nothing but a regular file is opened: neither a huge file
    nor a pipe can hold up a synth.
    """
    try:
        stat = path.stat()
        if path.is_dir():
            raise _error(path, Code.FILE_UNREADABLE, f"this is a directory, not a {noun}", _inside(path))
        if not path.is_file():
            raise _error(path, Code.FILE_UNREADABLE, f"this is no regular file, so it can be no {noun}", _INSTEAD)
        if stat.st_size > SIZE_LIMIT:
            message = f"the file has {stat.st_size:,} bytes; a {noun} has {SIZE_LIMIT:,} at most"
            raise _error(path, Code.FILE_TOO_LARGE, message, "check that this is the file that you meant")
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise _error(path, Code.FILE_UNREADABLE, "there is no such file", _near(path)) from None
    except UnicodeDecodeError as error:
        message = f"the byte at position {error.start} is not UTF-8"
        raise _error(path, Code.FILE_NOT_TEXT, message, "save the file as UTF-8 text") from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise _error(path, Code.FILE_UNREADABLE, f"the file cannot be read: {reason}", _INSTEAD) from None
    except ValueError:
        raise _error(path, Code.FILE_UNREADABLE, "no file can have this name", _INSTEAD) from None


def _error(path: Path, code: Code, message: str, remedy: str) -> FleetError:
    return FleetError([Problem(code=code, message=message, remedy=remedy)], subject=str(path))


def _near(path: Path) -> str:
    """Offer what lies next to a file that does not exist."""
    from llm_fleet.rules.nearest import nearest

    try:
        names = [entry.name for entry in path.parent.iterdir() if entry.is_file()]
    except OSError:
        return _INSTEAD
    offer = nearest(path.name, names)
    return f"did you mean `{path.with_name(offer)}`?" if offer else _INSTEAD


def _inside(path: Path) -> str:
    """Offer a fleet file that lies in a directory."""
    found = sorted(entry for entry in path.iterdir() if entry.suffix in {".yaml", ".yml"})
    return f"did you mean `{found[0]}`?" if found else _INSTEAD
