"""A signal asks for an end: it is obeyed at the next step's boundary, when the processes agree."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import Any, Dict, Optional

from llm_fleet_training.failures import RESTARTABLE

SIGNALS = (signal.SIGTERM, signal.SIGUSR1)
"""SIGTERM of `scancel` and of preemption; SIGUSR1 of `#SBATCH --signal=USR1@300`, before the time limit."""
PATIENCE = 5.0
"""Seconds beyond the time of two steps that a boundary is waited for: longer, and a peer is lost that will not come."""


GLANCE = 0.1


class Stopping:
    """Whether this process was asked to stop, and by which signal.

    Python hears a signal only between two of its own instructions, and so never while a collective waits for a node
    that has died. Therefore a thread hears it, too, and ends the process when no boundary comes: Slurm would kill it
    only after its KillWait (30 s by default), and the job would start again so much later.
    """

    def __init__(self) -> None:
        self.requested: Optional[str] = None
        self.step_seconds = 0.0
        """How long the last step took; the loop tells it."""
        self.saving = False
        """A checkpoint is under way, which takes as long as it takes."""
        self._reached = threading.Event()
        self._before: Dict[signal.Signals, Any] = {}

    def listen(self) -> None:
        """Only in a process's main thread, as Python has it."""
        self._ear, mouth = os.pipe()
        os.set_blocking(mouth, False)
        signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
        threading.Thread(target=self._watch, name="stopping", daemon=True).start()
        self._before = {number: signal.signal(number, self._hear) for number in SIGNALS}

    def leave(self) -> None:
        """Signals do what they did before."""
        self.reached()
        signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def reached(self) -> None:
        """The processes have agreed to stop: from here on it takes as long as it takes."""
        self._reached.set()

    def _hear(self, number: int, frame: Optional[FrameType]) -> None:
        self.requested = signal.Signals(number).name

    def _watch(self) -> None:
        while (heard := os.read(self._ear, 1)) and heard[0] not in SIGNALS:
            pass
        patience = PATIENCE + 2 * self.step_seconds
        left = patience
        while left > 0:
            if self._reached.wait(GLANCE):
                return
            left -= 0 if self.saving else GLANCE
        sys.stderr.write(f"llm-fleet: no step ended within {patience:.0f} s of the signal: a peer is lost\n")
        sys.stderr.flush()
        os._exit(RESTARTABLE)
