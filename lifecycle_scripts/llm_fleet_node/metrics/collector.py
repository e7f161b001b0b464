"""Collects metrics each minute, and publishes them."""

from __future__ import annotations

import time
import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Optional

from llm_fleet_node.metrics.aws import Rejected
from llm_fleet_node.metrics.exposition import exposition
from llm_fleet_node.metrics.machine import Machine
from llm_fleet_node.metrics.publishers import Publisher
from llm_fleet_node.metrics.rates import Rates
from llm_fleet_node.metrics.reading import Reading, together, trouble
from llm_fleet_node.metrics.sample import Sample
from llm_fleet_node.metrics.settings import Settings
from llm_fleet_node.metrics.sources.efa import read_efa
from llm_fleet_node.metrics.sources.lustre import read_lustre
from llm_fleet_node.metrics.sources.neuron import read_neuron
from llm_fleet_node.metrics.sources.node import read_node
from llm_fleet_node.metrics.sources.nvidia import read_gpus
from llm_fleet_node.metrics.sources.slurm import read_slurm
from llm_fleet_node.metrics.status import Status, write_status, write_whole

_KEPT = 60
"""Samples that are kept while publishing fails: one hour. Prometheus rejects older samples."""
TEXT = "llm_fleet.prom"


class Collector:
    """The metrics of one node, with the samples that are not published yet."""

    def __init__(
        self,
        settings: Settings,
        machine: Machine,
        to: Publisher,
        folder: Path,
        *,
        settings_fingerprint: str,
        say: Callable[[str], None],
    ) -> None:
        """Set the publisher, the `folder` for status and last values, and the fingerprint of the settings."""
        self._settings = settings
        self._machine = machine
        self._to = to
        self._folder = folder
        self._settings_fingerprint = settings_fingerprint
        self._say = say
        self._rates = Rates()
        self._waiting: deque[Sample] = deque(maxlen=_KEPT)
        self._published: Optional[int] = None
        self._trouble: Optional[str] = None

    def once(self) -> Status:
        """Collect, publish all waiting samples, and return the status. Raises `OSError` if it cannot be written."""
        sample = Sample(int(time.time() * 1000), self._measure())
        self._waiting.append(sample)
        status = Status(
            settings=self._settings_fingerprint,
            measured=sample.milliseconds,
            values=len(sample.numbers),
            absent=dict(sample.reading.absent),
            broken=sorted(sample.reading.broken),
            published=self._published,
            trouble=self._trouble,
            waiting=len(self._waiting),
        )
        write_whole(self._folder / TEXT, exposition(sample))
        self._hand_over()
        status = replace(status, published=self._published, trouble=self._trouble, waiting=len(self._waiting))
        write_status(self._folder, status)
        return status

    def _measure(self) -> Reading:
        """Read each source; an unexpected error of one does not affect the others."""
        sources: dict[str, Callable[[], Reading]] = {
            "node": lambda: read_node(self._machine, self._rates),
            "neuron": lambda: read_neuron(self._machine, self._rates, self._folder),
            "gpu": lambda: read_gpus(self._machine, self._rates),
            "efa": lambda: read_efa(self._machine, self._rates),
            "lustre": lambda: read_lustre(self._machine, self._rates),
        }
        if self._settings.ask_slurm:
            sources["slurm"] = lambda: read_slurm(self._machine)
        return together({name: _read(name, ask) for name, ask in sources.items()})

    def _hand_over(self) -> None:
        samples = list(self._waiting)
        try:
            self._to.send(samples)
        except Rejected as error:
            if str(error) != self._trouble:
                self._say(f"values not published: {error}")
            self._trouble = str(error)
            if not error.again:
                # They would be rejected forever, and block newer samples.
                self._waiting.clear()
            return
        if self._trouble is not None:
            self._say(f"publishing works again, {len(samples)} samples sent")
        self._waiting.clear()
        self._trouble, self._published = None, int(time.time() * 1000)


def _read(name: str, ask: Callable[[], Reading]) -> Reading:
    try:
        return ask()
    except Exception as error:
        return trouble(name, f"{type(error).__name__}: {error}")


def seconds_to_next(now: float, every: int, node: str) -> float:
    """Return how long to wait from `now`: each node has its own second of the minute, so that 2,000 nodes do not
    send at the same time. Computed from the clock each time, so delays and clock changes do not add up.
    """
    own = zlib.crc32(node.encode()) % every
    left = (own - now) % every
    return left if left > 1 else left + every
