"""One start of a run: from its newest checkpoint or initial weights, to its last step or a signal."""

from __future__ import annotations

import contextlib
import os
import sys
import time
import uuid
from typing import Any, Dict, List, Optional

from llm_fleet_training.backends.backend import Backend
from llm_fleet_training.backends.choose import choose
from llm_fleet_training.checkpoints.checkpoints import Checkpoints, Complete
from llm_fleet_training.checkpoints.mirror import Mirror
from llm_fleet_training.checkpoints.part import Watcher, unwatched
from llm_fleet_training.checkpoints.record import Record
from llm_fleet_training.checkpoints.restoring import restore
from llm_fleet_training.failures import STOPPED
from llm_fleet_training.model.config import ModelConfig, read
from llm_fleet_training.samples.tokens import Tokens, read_record
from llm_fleet_training.settings import Settings
from llm_fleet_training.training.belonging import other_data, requested_degrees
from llm_fleet_training.training.finding import find
from llm_fleet_training.training.folder import writable
from llm_fleet_training.training.loop import Loop, Position
from llm_fleet_training.training.metrics import Metrics, write_result
from llm_fleet_training.training.preflight import problems
from llm_fleet_training.training.saving import Saver
from llm_fleet_training.training.stopping import Stopping
from llm_fleet_training.training.together import together

MIRROR_SECONDS = 600.0
"""Seconds that a finished run waits for its mirror."""
STOPPED_MIRROR_SECONDS = 10.0
"""Seconds that a stopped run waits for its mirror: the platform soon kills it."""


def train(settings: Settings, watch: Watcher = unwatched) -> int:
    """Returns 0 at the run's end, 75 after a signal; raises a failure otherwise. `watch` is for tests."""
    stopping = Stopping()
    stopping.listen()  # First of all: a signal while others still load must not kill this process.
    try:
        return _train(settings, stopping, watch)
    finally:
        stopping.leave()


def _train(settings: Settings, stopping: Stopping, watch: Watcher) -> int:
    _check(settings, int(os.environ.get("WORLD_SIZE", "1")))
    config = read(settings.model)
    backend = choose(settings, config)
    backend.start()
    if settings.compile_only is not None:
        code = _compile(backend, settings, config)
    else:
        code = _Start(backend, settings, config, stopping, watch).run()
    backend.close()  # Not after a failure: other processes may never reach this collective call.
    return code


def _check(settings: Settings, world: int) -> None:
    """Log all failures; the last one ends the process."""
    found = problems(settings, world)
    if not found:
        return
    if os.environ.get("RANK", "0") == "0":
        for failure in found[:-1]:
            print(failure, file=sys.stderr, flush=True)
    found[-1].shared = True
    raise found[-1]


def say(text: str) -> None:
    """One line in the job's log."""
    print(f"llm-fleet: {text}", flush=True)


def _compile(backend: Backend, settings: Settings, config: ModelConfig) -> int:
    """Run a few steps of synthetic tokens without saving: the compiled graph is the same."""
    backend.build()
    steps = settings.compile_only or 1
    Loop(backend, settings, None, config.vocabulary).warm(steps)
    if backend.is_main:
        say(f"{steps} steps were run to compile; nothing is saved")
    return 0


class _Start:
    """The objects of one start of a run."""

    def __init__(
        self, backend: Backend, settings: Settings, config: ModelConfig, stopping: Stopping, watch: Watcher
    ) -> None:
        self.backend = backend
        self.settings = settings
        self.config = config
        self.stopping = stopping
        self.record = read_record(settings.tokens)
        attempt = backend.exchange(uuid.uuid4().hex[:12])[0]
        self.checkpoints = Checkpoints(settings.checkpoints, attempt=attempt, watch=watch)
        self.mirror: Optional[Mirror] = None
        self.metrics: Optional[Metrics] = None

    def run(self) -> int:
        """Restore or initialize, then train to the end."""
        begin = time.perf_counter()
        together(self.backend, self._prepare, self.checkpoints.folder, main_only=True)
        found = find(self.backend, self.checkpoints, self.settings, self.config, say if self.backend.is_main else _hush)
        self.backend.build()
        first = self._take(found)
        saver = Saver(
            self.backend, self.checkpoints, self._record, self.settings.checkpoints_kept, say, self.mirror,
            size=found.record.size if found else 0,
        )  # fmt: skip
        if first < self.settings.steps:
            saver.reckon()
        self._say(f"ready after {time.perf_counter() - begin:.1f} s")
        tokens = Tokens(self.record, self.settings.sequence_length)
        loop = Loop(self.backend, self.settings, tokens, self.config.vocabulary)
        ended = loop.run(Position(first), saver, self.metrics, self.stopping, say)
        return self._end(ended, time.perf_counter() - begin)

    def _prepare(self) -> None:
        """Only on rank 0: prepare folders, remove old attempts, restore from the mirror, open the metrics."""
        writable(self.checkpoints.folder)
        for name in self.checkpoints.tidy():
            say(f"{name} is removed: a failed attempt left it")
        if self.settings.mirror:
            restore(self.checkpoints, self.settings.mirror, say)
            self.mirror = Mirror(self.settings.mirror, keep=self.settings.checkpoints_kept, say=say)
        self.metrics = Metrics(self.settings.run_folder)

    def _take(self, found: Optional[Complete]) -> int:
        """Load weights; returns the step to start with."""
        if found is not None:
            self.backend.load(found.folder)
            for line in other_data(found, tokens=self.record.sha256, seed=self.settings.seed):
                self._say(line)
            self._say(f"resumes from step {found.step} ({found.folder})")
            if self.backend.is_main:  # The previous start may have been killed before or during this.
                self.checkpoints.prune(self.settings.checkpoints_kept, newest=found.step)
            if self.mirror is not None:
                self.mirror.offer(found)
            return found.step
        if self.settings.from_weights is not None:
            self.backend.load_weights(self.settings.from_weights)
        self._say(f"starts at step 0, with {self.settings.from_weights or 'weights drawn from the seed'}")
        return 0

    def _record(self, step: int) -> Record:
        return Record(
            step=step,
            backend=self.backend.name,
            layout=self.backend.layout,
            fingerprint=self.config.fingerprint,
            model=self.config.as_words(),
            degrees=requested_degrees(self.settings, self.backend.world),
            world_size=self.backend.world,
            seed=self.settings.seed,
            tokens_seen=step * self.settings.global_batch * self.settings.sequence_length,
            data=self.record.sha256,
        )

    def _end(self, ended: Position, seconds: float) -> int:
        """Log the result, or the signal that stopped the run."""
        if ended.stopped_by:
            self._say(f"stopped by {ended.stopped_by} at step {ended.step}: it resumes from there when started again")
            self._close(ended.step, STOPPED_MIRROR_SECONDS)
            return STOPPED
        digest = self.backend.parameters_sha256()
        if self.backend.is_main:
            write_result(self.settings.run_folder, self._result(ended, digest, seconds))
        self._say(f"done: {ended.step} steps, parameters {digest}")
        self._close(ended.step, MIRROR_SECONDS)
        return 0

    def _result(self, ended: Position, digest: str, seconds: float) -> Dict[str, Any]:
        return {
            "steps": ended.step,
            "final_loss": ended.loss,
            "parameters_sha256": digest,
            "backend": self.backend.name,
            "degrees": self.backend.degrees.as_words(),
            "world_size": self.backend.world,
            "fingerprint": self.config.fingerprint,
            "seed": self.settings.seed,
            "restarts": self.metrics.restart if self.metrics else 0,
            "seconds_of_last_start": round(seconds, 3),
        }

    def _close(self, step: int, seconds: float) -> None:
        if self.metrics is not None:
            self.metrics.close()
        if self.mirror is not None:
            self.mirror.close(seconds)
            # A checkpoint that was being copied when the last one was saved is still there. The next start
            # would remove it, too: an error here must not fail a run that has ended.
            with contextlib.suppress(OSError):
                self.checkpoints.prune(self.settings.checkpoints_kept, step, in_use=self.mirror.waiting())

    def _say(self, text: str) -> None:
        if self.backend.is_main:
            say(text)


def _hush(text: str) -> None:
    """The log function of other processes than the main one."""


__all__: List[str] = ["say", "train"]
