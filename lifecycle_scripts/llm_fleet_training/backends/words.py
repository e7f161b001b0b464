"""Exchanges texts between processes over torch's key-value store, without a device or a compiled graph."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import json
from datetime import timedelta
from typing import List

WAIT = timedelta(hours=2)
"""How long a process waits for the slowest one, e.g. while it writes its share of a checkpoint."""


class Words:
    """One exchange; every process makes it once and sends the same number of texts."""

    def __init__(self, rank: int, world: int) -> None:
        """Requires the default process group."""
        from torch.distributed import PrefixStore, distributed_c10d

        # Not public, and the same from PyTorch 1.9 to 2.13. torchrun's own store would do as well, under other names.
        self._store = PrefixStore("llm-fleet-words", distributed_c10d._get_default_store())
        self._rank = rank
        self._world = world
        self._said = 0

    def exchange(self, text: str) -> List[str]:
        """Gather one text per process, by rank, on every process; also a barrier.

        The first process collects all texts and distributes them. This runs at every step, and the store is one thread
        on one node: if each of 512 processes fetched each text, that would be 262,144 requests.
        """
        self._said += 1
        all_of_it, own = str(self._said), f"{self._said}/{self._rank}"
        self._store.set(own, text)
        if self._rank == 0:
            keys = [f"{self._said}/{rank}" for rank in range(self._world)]
            self._store.wait(keys, WAIT)
            found = [self._store.get(key).decode() for key in keys]
            self._store.set(all_of_it, json.dumps(found))
        else:
            self._store.wait([all_of_it], WAIT)
            found = [str(one) for one in json.loads(self._store.get(all_of_it))]
        self._forget()
        return found

    def _forget(self) -> None:
        """All processes have sent this text, so all have read the previous one."""
        before = self._said - 1
        if before:
            self._store.delete_key(f"{before}/{self._rank}")
            if self._rank == 0:
                self._store.delete_key(str(before))
