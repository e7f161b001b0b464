"""Reads the text at a path that a fleet file or a construct names: of a regular file of a sensible size alone."""

import stat
from pathlib import Path


def read_regular_file(path: Path, *, most: int = 1024 * 1024, encoding: str = "utf-8") -> str:
    """Return the text of the file at `path`, of `most` bytes or fewer (default: 1 MiB).

    A device or a pipe is refused before it is opened: reading `/dev/zero` or waiting at a pipe never ends.
    Raises `OSError` and `ValueError`, of which the text is the reason.
    """
    state = path.stat()
    if not (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)):  # Opening says best what a folder is not.
        raise ValueError("it is no regular file")
    if state.st_size > most:
        raise ValueError(f"it has more than {most:,} bytes")
    return path.read_text(encoding=encoding)
