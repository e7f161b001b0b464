"""Raises the failure of one process on all processes, so that none waits for the failed one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Callable, List

from llm_fleet_training.backends.backend import Backend
from llm_fleet_training.failures import Code, Failure
from llm_fleet_training.training.folder import of_error


def together(backend: Backend, act: Callable[[], None], folder: Path, *, main_only: bool = False) -> None:
    """Run `act` on every process, or only on the main one; then all continue, or raise the lowest rank's failure."""
    word = ""
    if backend.is_main or not main_only:
        try:
            act()
        except Failure as failure:
            word = json.dumps([failure.code.name, failure.cause, failure.final])
        except OSError as error:
            found = of_error(error, folder)
            word = json.dumps([found.code.name, found.cause, found.final])
    _raise_first(backend.exchange(word))


def _raise_first(words: List[str]) -> None:
    for rank, word in enumerate(words):
        if word:
            name, cause, final = json.loads(word)
            said = f"process {rank}: {cause}" if rank else cause
            raise Failure(Code[name], said, final=final, shared=True)
