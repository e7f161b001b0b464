"""Removes graphs from the Neuron compile cache that are unused for too long, and the oldest if it is too large.

    clean_compile_cache.py <folder> --max-age-days N [--max-gib N] [--dry-run]

The cache is `<folder>/neuronxcc-<version>/MODULE_<hash>/` with `model.neff`, and an empty `model.done` written last.
Other files are ignored. Users own the content of the folder and can put anything there, while this runs as root: so
every folder is opened without following links, and all operations are relative to the opened folder.

A graph was last used at the newest time of any file in its folder: the write time, from its compilation; the read time,
if the file system keeps it (the fleet's own mounts have `noatime`, and do not); and the time of its lock file, which
some compiler versions keep and open again (assumption: neuron-cache-lock-file-is-opened). If none of these changes, the
age counts from the compilation. A wrong removal costs one compilation, never a result.

A graph without `model.done` is being compiled, or its compilation failed: it is kept until nothing in it has changed
for a day. A lock file is no evidence, because compilers leave it behind. A graph that was just finished is also kept.
"""

from __future__ import annotations

import argparse
import os
import stat
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

_DAY, _GIB = 86400.0, 1 << 30
_UNFINISHED_SECONDS = _DAY
"""Longer than any compilation, which takes hours at most."""
_FINISHED_SECONDS = 3600.0
"""A graph younger than this is about to be used."""
_DONE = "model.done"
_GONE = ".llm-fleet-removed-"
"""Prefix of a graph's name while it is removed, so that no job finds a partial one."""


@dataclass(frozen=True)
class Graph:
    """One compiled graph, complete or not."""

    version: str
    """Name of the compiler's folder, e.g. `neuronxcc-2.23.6484.0+3b612583`."""
    name: str
    used: float
    """Last write or read of any of its files, in seconds since 1970."""
    size: int
    is_whole: bool

    def is_free(self, now: float) -> bool:
        """Return whether it can be removed."""
        return now - self.used > (_FINISHED_SECONDS if self.is_whole else _UNFINISHED_SECONDS)


def main() -> int:
    """Clean the cache and print a summary. Returns the exit code."""
    parser = argparse.ArgumentParser(description="Removes unused compiled graphs.")
    parser.add_argument("folder")
    parser.add_argument("--max-age-days", type=float, required=True)
    parser.add_argument("--max-gib", type=float)
    parser.add_argument("--dry-run", action="store_true", help="only print what would be removed")
    requested = parser.parse_args()
    try:
        with _opened(requested.folder) as cache:
            graphs = list(_graphs(cache))
            limit = None if requested.max_gib is None else int(requested.max_gib * _GIB)
            chosen = to_remove(graphs, time.time(), requested.max_age_days * _DAY, limit)
            removed = [graph for graph in chosen if requested.dry_run or _remove(cache, graph)]
            if not requested.dry_run:
                _finish_removals(cache)
    except OSError as error:
        print(f"{requested.folder} cannot be cleaned: {error}", file=sys.stderr)
        return 1
    verb = "would be removed" if requested.dry_run else "removed"
    print(
        f"{requested.folder}: {len(graphs)} graphs of {_reported(graphs)}; "
        f"{verb}: {len(removed)} of {_reported(removed)}"
    )
    for graph in removed:
        print(f"  {graph.version}/{graph.name}, last used {_date(graph.used)}")
    return 0


def to_remove(graphs: list[Graph], now: float, max_age: float, max_size: int | None) -> list[Graph]:
    """Return the graphs to remove: all unused for `max_age` seconds, then the least recently used above `max_size`."""
    free = sorted((graph for graph in graphs if graph.is_free(now)), key=lambda graph: graph.used)
    chosen = [graph for graph in free if now - graph.used > max_age]
    left = sum(graph.size for graph in graphs) - sum(graph.size for graph in chosen)
    for graph in free[len(chosen) :]:
        if max_size is None or left <= max_size:
            break
        chosen.append(graph)
        left -= graph.size
    return chosen


def _graphs(cache: int) -> Iterator[Graph]:
    for version in _folders(cache, "neuronxcc-"):
        with suppress(OSError), _opened(version, cache) as folder:
            for name in _folders(folder, "MODULE_"):
                with suppress(OSError), _opened(name, folder) as graph:
                    yield _measured(version, name, graph)


def _measured(version: str, name: str, folder: int) -> Graph:
    found = list(_all(folder))
    own = os.fstat(folder)
    whole = any(path == _DONE and stat.S_ISREG(status.st_mode) for path, status in found)
    times = [time for _, status in found for time in (status.st_mtime, status.st_atime)]
    return Graph(version, name, max([own.st_mtime, *times]), sum(status.st_blocks * 512 for _, status in found), whole)


def _all(folder: int, above: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Return the path and status of all below `folder`. Folders themselves are left out: reading changes their time."""
    for name in os.listdir(folder):
        with suppress(FileNotFoundError):
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                with _opened(name, folder) as inner:
                    yield from _all(inner, f"{above}{name}/")
            else:
                yield f"{above}{name}", status


def _remove(cache: int, graph: Graph) -> bool:
    """Remove `graph`, unless it was used since it was listed; return whether it is gone."""
    with suppress(OSError), _opened(graph.version, cache) as version:
        with _opened(graph.name, version) as folder:
            if _measured(graph.version, graph.name, folder) != graph:
                return False
            gone = f"{_GONE}{graph.name}"
            os.rename(graph.name, gone, src_dir_fd=version, dst_dir_fd=version)
        _remove_tree(version, gone)
        return True
    return False


def _finish_removals(cache: int) -> None:
    """Remove the leftovers of a killed run."""
    for name in _folders(cache, "neuronxcc-"):
        with suppress(OSError), _opened(name, cache) as version:
            for left in _folders(version, _GONE):
                _remove_tree(version, left)


def _remove_tree(above: int, name: str) -> None:
    """Remove the folder `name` in the folder `above` and its content. Links are removed, never followed."""
    with _opened(name, above) as folder:
        for inner in os.listdir(folder):
            if stat.S_ISDIR(os.stat(inner, dir_fd=folder, follow_symlinks=False).st_mode):
                _remove_tree(folder, inner)
            else:
                os.unlink(inner, dir_fd=folder)
    os.rmdir(name, dir_fd=above)


def _folders(above: int, beginning: str) -> list[str]:
    """Return the folders in `above` whose names have this `beginning`, without links to folders."""
    with os.scandir(above) as entries:
        return sorted(
            one.name for one in entries if one.name.startswith(beginning) and one.is_dir(follow_symlinks=False)
        )


@contextmanager
def _opened(name: str, above: int | None = None) -> Generator[int, None, None]:
    """Open the folder `name`, in the folder `above`. Raises `OSError` if it is a link or not a folder."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (0 if above is None else os.O_NOFOLLOW)
    handle = os.open(name, flags, dir_fd=above)
    try:
        yield handle
    finally:
        os.close(handle)


def _reported(graphs: list[Graph]) -> str:
    return f"{sum(graph.size for graph in graphs) / _GIB:.1f} GiB"


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))


if __name__ == "__main__":
    sys.exit(main())
