"""The order of samples: a shuffle that is computed for one position at a time, so that a resume needs no state."""

from __future__ import annotations

import hashlib
from typing import List

ROUNDS = 4


def shuffled(place: int, count: int, key: str) -> int:
    """The element at `place` (0 to `count` - 1) when `count` elements are shuffled by `key`.

    A Feistel network over the next even number of bits, walked until it falls within `count`: a permutation of
    0 to `count` - 1 for every key, as every round can be undone.
    """
    half = max(1, ((count - 1).bit_length() + 1) // 2)
    mask = (1 << half) - 1
    found = place
    while True:
        left, right = found >> half, found & mask
        for number in range(ROUNDS):
            word = hashlib.blake2b(f"{key}/{number}/{right}".encode(), digest_size=8).digest()
            left, right = right, left ^ (int.from_bytes(word, "big") & mask)
        found = left << half | right
        if found < count:
            return found


def sample_at(place: int, count: int, seed: int) -> int:
    """The sample at a position in the endless sequence of epochs, each shuffled differently."""
    epoch, within = divmod(place, count)
    return shuffled(within, count, f"{seed}/{epoch}")


def places(*, step: int, accumulation: int, replicas: int, replica: int, micro_batch: int) -> List[List[int]]:
    """For each micro batch of a step (from 0), the positions of one replica's samples.

    Together, the replicas read positions from `step x global batch` on: the same at any number of replicas.
    """
    start = step * accumulation * replicas * micro_batch
    firsts = [start + (number * replicas + replica) * micro_batch for number in range(accumulation)]
    return [list(range(first, first + micro_batch)) for first in firsts]
