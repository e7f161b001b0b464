"""Gets the text of a fleet file, or says in one sentence why there is none."""

from pathlib import Path

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError, Problem
from llm_fleet.rules.values import nearest

SIZE_LIMIT = 1024 * 1024
"""Bytes. A fleet of 100 groups with everything set is a tenth of it."""

_EXAMPLES = {"fleet file": "; `examples/hyperpod-trn1.yaml` is one to start from"}
_SUFFIXES = {"fleet file": (".yaml", ".yml"), "request": (".json",)}


def read_text(path: Path, *, noun: str = "fleet file") -> str:
    """Return the text of the file at `path`; raise `FleetError` (LF101 to LF103) when there is none to read.

    The size is asked for before anything is read, and nothing but a regular file is opened: neither a huge file
    nor a pipe can hold up a synth.
    """
    _refuse_before_opening(path, noun)
    try:
        with path.open("rb") as file:
            content = file.read(SIZE_LIMIT + 1)
    except OSError as error:
        raise _unreadable(path, noun, error) from None
    if len(content) > SIZE_LIMIT:
        raise _too_large(path, noun, f"more than {SIZE_LIMIT:,}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"the byte at position {error.start} is not UTF-8"
        raise _error(path, Code.FILE_NOT_TEXT, message, "save the file as UTF-8 text") from None


def _refuse_before_opening(path: Path, noun: str) -> None:
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise _error(path, Code.FILE_UNREADABLE, "there is no such file", _near(path, noun)) from None
    except OSError as error:
        raise _unreadable(path, noun, error) from None
    except ValueError:  # A null character in the name.
        raise _error(path, Code.FILE_UNREADABLE, "no file can have this name", _instead(noun)) from None
    if path.is_dir():
        raise _error(path, Code.FILE_UNREADABLE, f"this is a directory, not a {noun}", _inside(path, noun))
    if not path.is_file():
        raise _error(path, Code.FILE_UNREADABLE, f"this is no regular file, so it can be no {noun}", _instead(noun))
    if size > SIZE_LIMIT:
        raise _too_large(path, noun, f"{size:,}")


def _too_large(path: Path, noun: str, size: str) -> FleetError:
    message = f"the file has {size} bytes; a {noun} has {SIZE_LIMIT:,} at most"
    return _error(path, Code.FILE_TOO_LARGE, message, "check that this is the file that you meant")


def _unreadable(path: Path, noun: str, error: OSError) -> FleetError:
    reason = (error.strerror or type(error).__name__).lower()
    return _error(path, Code.FILE_UNREADABLE, f"the file cannot be read: {reason}", _instead(noun))


def _error(path: Path, code: Code, message: str, remedy: str) -> FleetError:
    return FleetError([Problem(code=code, message=message, remedy=remedy)], subject=str(path))


def _near(path: Path, noun: str) -> str:
    """Offer what lies next to a file that does not exist."""
    try:
        names = [entry.name for entry in path.parent.iterdir() if entry.is_file()]
    except OSError:
        return _instead(noun)
    offer = nearest(path.name, names)
    return f"did you mean `{path.with_name(offer)}`?" if offer else _instead(noun)


def _inside(path: Path, noun: str) -> str:
    """Offer a file of the right kind that lies in a directory."""
    try:
        found = sorted(entry for entry in path.iterdir() if entry.suffix in _SUFFIXES.get(noun, ()))
    except OSError:
        return _instead(noun)
    return f"did you mean `{found[0]}`?" if found else _instead(noun)


def _instead(noun: str) -> str:
    return f"give the path of a {noun}{_EXAMPLES.get(noun, '')}"
