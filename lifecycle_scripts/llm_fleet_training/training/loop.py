"""The train loop: samples, micro batches, clipping, step, a row of metrics, and checkpoints at their interval."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, Callable, List, Optional, Sequence

from llm_fleet_training.backends.backend import Backend
from llm_fleet_training.failures import Code, fail
from llm_fleet_training.samples.order import places, sample_at
from llm_fleet_training.samples.tokens import Tokens
from llm_fleet_training.settings import Settings
from llm_fleet_training.training.metrics import Metrics
from llm_fleet_training.training.saving import Saver
from llm_fleet_training.training.schedule import learning_rate
from llm_fleet_training.training.stopping import Stopping


@dataclass(frozen=True)
class Position:
    """The number of steps completed, the loss of the last one, and the signal that stopped the loop, if any."""

    step: int
    loss: Optional[float] = None
    stopped_by: str = ""


@dataclass(frozen=True)
class Taken:
    """Results of one step; `seconds` without its checkpoint."""

    loss: float
    norm: float
    rate: float
    seconds: float


class Loop:
    """Accumulates micro batches to the global batch."""

    def __init__(self, backend: Backend, settings: Settings, tokens: Optional[Tokens], vocabulary: int) -> None:
        """Without tokens, samples are synthetic."""
        self.backend = backend
        self.settings = settings
        self.tokens = tokens
        self.vocabulary = vocabulary
        self.accumulation = settings.global_batch // (settings.micro_batch * backend.degrees.data)

    def run(
        self, start: Position, saver: Saver, metrics: Optional[Metrics], stopping: Stopping, say: Callable[[str], None]
    ) -> Position:
        """Run up to the last step, or to the end of the step in which a process received a signal."""
        here = start
        while here.step < self.settings.steps:
            taken = self.step(here.step)
            stopping.step_seconds = taken.seconds
            step = here.step + 1
            requested = self._requested(stopping)
            due = step % self.settings.checkpoint_every == 0 or step == self.settings.steps or bool(requested)
            saved = self._save(step, saver, stopping) if due else 0.0
            if metrics is not None:
                self._report(step, taken, saved, metrics, say)
            here = Position(step, taken.loss, requested if step < self.settings.steps else "")
            if here.stopped_by:
                break
        return here

    def _save(self, step: int, saver: Saver, stopping: Stopping) -> float:
        stopping.saving = True
        try:
            return saver.save(step)
        finally:
            stopping.saving = False

    def warm(self, steps: int) -> None:
        """Run steps without saving; while a compiler only collects graphs, results have no meaning."""
        for step in range(steps):
            self.step(step)

    def step(self, number: int) -> Taken:
        """Run step `number`, from 0. LFJ18 when loss or gradient is not a finite number."""
        begin = time.perf_counter()
        losses: List[Any] = [
            self.backend.forward_backward(samples, 1.0 / self.accumulation) for samples in self._samples(number)
        ]
        norm = self.backend.reduce_and_clip(self.settings.clip)
        rate = learning_rate(number, self.settings)
        self._finite(norm, "gradient norm", number)
        self.backend.step(rate)
        loss = self.backend.mean_loss(losses)  # After the step: before it, lazy devices would have to synchronize.
        self._finite(loss, "loss", number)
        return Taken(loss=loss, norm=norm, rate=rate, seconds=time.perf_counter() - begin)

    def _finite(self, value: float, what: str, number: int) -> None:
        if not math.isfinite(value) and self.settings.compile_only is None:
            rate = learning_rate(number, self.settings)
            fail(
                Code.NON_FINITE_LOSS,
                f"the {what} of step {number + 1} is {value}, at learning rate {rate:g}",
                shared=True,
            )

    def _samples(self, number: int) -> List[Sequence[Sequence[int]]]:
        rows = places(
            step=number,
            accumulation=self.accumulation,
            replicas=self.backend.degrees.data,
            replica=self.backend.data_rank,
            micro_batch=self.settings.micro_batch,
        )
        return [[self._sample(place) for place in row] for row in rows]

    def _sample(self, place: int) -> List[int]:
        if self.tokens is None:
            return [(place + n) % self.vocabulary for n in range(self.settings.sequence_length + 1)]
        return self.tokens.sample(sample_at(place, self.tokens.samples, self.settings.seed))

    def _requested(self, stopping: Stopping) -> str:
        """The signal that any process received; all stop at the same step."""
        requested = next((one for one in self.backend.exchange(stopping.requested or "") if one), "")
        if requested:
            stopping.reached()
        return requested

    def _report(self, step: int, taken: Taken, saved: float, metrics: Metrics, say: Callable[[str], None]) -> None:
        tokens = self.settings.global_batch * self.settings.sequence_length
        metrics.row(
            step=step,
            loss=taken.loss,
            gradient_norm=taken.norm,
            learning_rate=taken.rate,
            seconds=round(taken.seconds, 6),
            checkpoint_seconds=round(saved, 6),
            tokens_per_second=round(tokens / taken.seconds, 1),
            tokens=step * tokens,
        )
        say(f"step {step}/{self.settings.steps}: loss {taken.loss:.4f}, {taken.seconds:.3f} s")
