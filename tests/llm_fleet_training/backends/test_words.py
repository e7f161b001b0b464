"""Exchanged texts: complete, in order, with few requests, and nothing left in the store."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

WORLD, ROUNDS = 8, 5


class Counting:
    """A store that counts its requests."""

    def __init__(self, store: Any, requests: "Counter[str]") -> None:
        self._store, self._requests = store, requests

    def __getattr__(self, name: str) -> Any:
        def call(*words: Any) -> Any:
            self._requests[name] += 1
            return getattr(self._store, name)(*words)

        return call


def test_all_texts_reach_every_process_with_few_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from llm_fleet_training.backends.words import Words

    store, requests = torch.distributed.HashStore(), Counter[str]()
    monkeypatch.setattr(torch.distributed.distributed_c10d, "_get_default_store", lambda: store)

    def speak(rank: int) -> list[list[str]]:
        words: Any = Words(rank, WORLD)
        words._store = Counting(words._store, requests)
        return [words.exchange(f"{turn} of {rank} \u00e9" if rank % 2 else "") for turn in range(ROUNDS)]

    with ThreadPoolExecutor(WORLD) as pool:
        heard = list(pool.map(speak, range(WORLD)))
    expected = [[f"{turn} of {rank} \u00e9" if rank % 2 else "" for rank in range(WORLD)] for turn in range(ROUNDS)]
    assert heard == [expected] * WORLD
    assert requests["get"] + requests["set"] + requests["wait"] <= 4 * WORLD * ROUNDS, requests
    assert store.num_keys() <= WORLD + 1
