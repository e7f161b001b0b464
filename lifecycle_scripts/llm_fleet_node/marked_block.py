"""Keeps a marked block of lines in a file that others write too, such as `/etc/hosts`, and leaves their lines alone."""

from __future__ import annotations

import errno
import fcntl
from collections.abc import Generator
from contextlib import contextmanager

from llm_fleet_node.host import Host

_LOCK = "/run/llm-fleet.marked-block.lock"
"""Not in /run/lock, where everybody may write: a user could hold it for good, or make it a link."""
_BEGIN, _END = "# llm-fleet: begin {}", "# llm-fleet: end {}"


def put_block(host: Host, path: str, name: str, text: str, *, first: bool = False) -> bool:
    """Make `path` hold `text` between the marks of block `name`, once; return whether the file was changed.

    The block stays where it is, or comes last when it is new, `first` of all when asked; an empty `text` takes it out.
    The file is made when it is not there. Steps that run side by side may keep blocks in one file.
    """
    with _alone(host):
        before = host.read(path)
        after = with_block(before or "", name, text, first=first)
        if after == (before or ""):
            return False
        _write(host, path, after)
        return True


def get_block(host: Host, path: str, name: str) -> str:
    """Return the text of block `name` in `path`; empty when there is none."""
    lines = (host.read(path) or "").splitlines()
    begin, end = _BEGIN.format(name), _END.format(name)
    if begin not in lines or end not in lines:
        return ""
    return "".join(f"{line}\n" for line in lines[lines.index(begin) + 1 : lines.index(end)])


def with_block(before: str, name: str, text: str, *, first: bool = False) -> str:
    """Return `before` with `text` between the marks of block `name`, as `put_block` writes it."""
    begin, end = _BEGIN.format(name), _END.format(name)
    wanted = text.splitlines()
    block = [begin, *wanted, end] if wanted else []
    kept, place = _without(before.splitlines(), begin, end, wanted)
    if first or place is None:
        place = 0 if first else len(kept)
    lines = [*kept[:place], *block, *kept[place:]]
    return "".join(f"{line}\n" for line in lines)


def _without(lines: list[str], begin: str, end: str, wanted: list[str]) -> tuple[list[str], int | None]:
    """Return `lines` without the block, and where it began.

    Of a block that somebody left without an end, only its mark and the lines that are wanted again are taken out:
    what follows may be another's.
    """
    if begin not in lines:
        return [line for line in lines if line != end], None
    place = lines.index(begin)
    rest = lines[place + 1 :]
    if end in rest:
        return lines[:place] + rest[rest.index(end) + 1 :], place
    return lines[:place] + [line for line in rest if line not in wanted], place


def _write(host: Host, path: str, text: str) -> None:
    try:
        mode = host.path(path).stat().st_mode & 0o7777
    except FileNotFoundError:
        mode = 0o644
    try:
        host.write(path, text, mode=mode)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        # Container engines mount /etc/hosts as a file of its own: it can be written, but not replaced.
        host.path(path).write_text(text, encoding="utf-8", errors="surrogateescape")
        host.changes.append(f"wrote {path}")


@contextmanager
def _alone(host: Host) -> Generator[None]:
    """Let one process at a time read such a file and write it back."""
    lock = host.path(_LOCK)
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
