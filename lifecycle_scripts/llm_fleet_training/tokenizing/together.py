"""Tokenizes all units in parallel, and writes their tokens to one file in the order of the data set."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
from array import array
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence

from llm_fleet_training.failures import Code, fail
from llm_fleet_training.tokenizing.documents import BrokenData
from llm_fleet_training.tokenizing.worker import TYPES, Task, result_of, tokenize_unit

_CHUNK = 8 * 1024**2


def run_tasks(tasks: Sequence[Task], processes: int, report: Callable[[int, int], None]) -> List[Dict[str, int]]:
    """Tokenize the units that no earlier run finished; returns the counts in the order of units.

    The error names the first broken unit of the data set. `report` gets the number of finished units and of all units.
    """
    found: Dict[int, Dict[str, int]] = {}
    for task in tasks:
        done = result_of(task)
        if done is not None:
            found[task.number] = done
    left = [task for task in tasks if task.number not in found]
    try:
        if processes <= 1 or len(left) <= 1:
            for task in left:
                found[task.number] = tokenize_unit(task)
                report(len(found), len(tasks))
        else:
            # Not by `fork`, which does not work with the threads of a tokenizer.
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(min(processes, len(left)), mp_context=context) as pool:
                _collect(pool, left, found, lambda: report(len(found), len(tasks)))
    except BrokenData as broken:
        fail(Code.DATA_SET, str(broken))
    except BrokenProcessPool:
        fail(Code.DATA_SET, "a tokenizing process was killed, most likely for lack of memory: set fewer --processes")
    return [found[task.number] for task in tasks]


def _collect(
    pool: ProcessPoolExecutor, tasks: Sequence[Task], found: Dict[int, Any], report: Callable[[], None]
) -> None:
    futures = [(task, pool.submit(tokenize_unit, task)) for task in tasks]
    try:
        for task, future in futures:
            found[task.number] = future.result()
            report()
    except BaseException:
        for _, future in futures:
            future.cancel()
        raise


def join(tasks: Sequence[Task], target: Path) -> str:
    """Write the tokens of all units into one file; returns its SHA-256."""
    digest = hashlib.sha256()
    with open(target, "wb") as written:
        for task in tasks:
            with open(task.tokens, "rb") as opened:
                while chunk := opened.read(_CHUNK):
                    digest.update(chunk)
                    written.write(chunk)
    for task in tasks:
        os.unlink(task.said)
        os.unlink(task.tokens)
    return digest.hexdigest()


def width(dtype: str) -> int:
    """Bytes per token."""
    return array(TYPES[dtype]).itemsize
