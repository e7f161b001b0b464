"""Keeps a marked block of lines in a file that other programs also write, such as `/etc/hosts`."""

from __future__ import annotations

import errno
import fcntl
from collections.abc import Generator
from contextlib import contextmanager

from llm_fleet_node.host import Host

_LOCK = "/run/llm-fleet.marked-block.lock"
"""Not in /run/lock, which is writable for all: a user could hold the lock forever, or make it a link."""
_BEGIN, _END = "# llm-fleet: begin {}", "# llm-fleet: end {}"


def put_block(host: Host, path: str, name: str, text: str, *, first: bool = False) -> bool:
    """Write `text` between the markers of the block `name` in `path`; return whether the file was changed.

    The block keeps its position; a new one is appended, or put first with `first`. An empty `text` removes the block. A
    missing file is created. Steps that run in parallel can have blocks in one file.
    """
    with _alone(host):
        before = host.read(path)
        after = with_block(before or "", name, text, first=first)
        if after == (before or ""):
            return False
        _write(host, path, after)
        return True


def get_block(host: Host, path: str, name: str) -> str:
    """Return the text of the block `name` in `path`; empty if there is none."""
    lines = (host.read(path) or "").splitlines()
    begin, end = _BEGIN.format(name), _END.format(name)
    if begin not in lines or end not in lines:
        return ""
    return "".join(f"{line}\n" for line in lines[lines.index(begin) + 1 : lines.index(end)])


def with_block(before: str, name: str, text: str, *, first: bool = False) -> str:
    """Return `before` with `text` between the markers of the block `name`, as `put_block` writes it."""
    begin, end = _BEGIN.format(name), _END.format(name)
    wanted = text.splitlines()
    block = [begin, *wanted, end] if wanted else []
    kept, place = _without(before.splitlines(), begin, end, wanted)
    if first or place is None:
        place = 0 if first else len(kept)
    lines = [*kept[:place], *block, *kept[place:]]
    return "".join(f"{line}\n" for line in lines)


def _without(lines: list[str], begin: str, end: str, wanted: list[str]) -> tuple[list[str], int | None]:
    """Return `lines` without the block, and the index of its start.

    Of a block without an end marker, only the begin marker and the lines of the new text are removed: other lines may
    belong to another program.
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
        # Container engines bind-mount /etc/hosts: it can be written, but not replaced by rename.
        host.path(path).write_text(text, encoding="utf-8", errors="surrogateescape")
        host.changes.append(f"wrote {path}")


@contextmanager
def _alone(host: Host) -> Generator[None]:
    """Lock, so that one process at a time reads and writes such a file."""
    lock = host.path(_LOCK)
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
