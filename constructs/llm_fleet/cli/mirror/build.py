"""Fills a mirror with what a lock file pins, and proves what is in it."""

import sys
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from llm_fleet.cli.mirror.fetching import fetch
from llm_fleet.cli.mirror.locked_file import LockedFile
from llm_fleet.cli.mirror.stores import Store
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError, Problem, raise_problems

_SIDE_BY_SIDE = 4


def build(files: Iterable[LockedFile], store: Store, cache: Path | None) -> int:
    """Put those of `files` that `store` lacks into it; return how many that were. Raises `FleetError` with all faults.

    `cache`: a folder that keeps what was fetched, so that a run that broke goes on where it was; without one, only
    what has reached the mirror is kept.
    """
    there = store.sizes()
    missing = [file for file in _once(files) if there.get(file.key) != file.size]
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        folder = cache or Path(scratch)
        work = {pool.submit(_carry, file, store, folder, keep=cache is not None): file for file in missing}
        problems: list[Problem] = []
        for number, done in enumerate(as_completed(work), start=1):
            try:
                done.result()
            except FleetError as error:
                problems.extend(error.problems)
            else:
                _tell(f"{number}/{len(missing)}  {work[done]}  {_size(work[done].size)}")
    raise_problems(problems, subject="the mirror")
    return len(missing)


def check(files: Iterable[LockedFile], store: Store, *, quick: bool) -> int:
    """Prove that `store` holds each of `files` as pinned; return how many. Raises `FleetError` with all that are not.

    `quick`: go by their sizes, instead of reading them.
    """
    there = store.sizes()
    wanted = _once(files)
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        found = [pool.submit(_check, file, store, there, quick) for file in wanted]
        problems = [problem for each in found for problem in each.result()]
    raise_problems(problems, subject="the mirror")
    return len(wanted)


def _carry(file: LockedFile, store: Store, folder: Path, *, keep: bool) -> None:
    fetched = fetch(file, folder)
    store.put(file.key, fetched)
    if not keep:
        fetched.unlink()


def _check(file: LockedFile, store: Store, there: Mapping[str, int], quick: bool) -> list[Problem]:
    size = there.get(file.key)
    if size is None:
        return [_problem(Code.MIRROR_STORE, file, "the mirror does not have it", "run `llm-fleet mirror build`")]
    found = file.sha256 if quick else store.sha256(file.key)
    if size == file.size and found == file.sha256:
        return []
    what = f"it has {size} bytes, pinned are {file.size}" if size != file.size else f"its SHA-256 is {found}"
    remedy = "find out who changed it, remove it, and run `llm-fleet mirror build`"
    return [_problem(Code.MIRROR_CHECKSUM, file, what, remedy)]


def _problem(code: Code, file: LockedFile, message: str, remedy: str) -> Problem:
    return Problem(code=code, path=(file.key,), message=f"{file}: {message}", remedy=remedy, value=file.sha256)


def _once(files: Iterable[LockedFile]) -> list[LockedFile]:
    """Return `files` without those that have the content and name of another, e.g. of two systems."""
    return list({file.key: file for file in files}.values())


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB"
