"""Stops training after a signal, at the end of the current step, when all processes agree."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import Any, Dict, Optional

from llm_fleet_training.failures import RESTARTABLE

SIGNALS = (signal.SIGTERM, signal.SIGUSR1)
"""SIGTERM from `scancel` and preemption; SIGUSR1 from `#SBATCH --signal=USR1@300`, before the time limit."""
PATIENCE = 5.0
"""Seconds to wait for the end of a step, in addition to the time of two steps; after that, a peer counts as lost."""


GLANCE = 0.1


class Stopping:
    """Whether this process received a signal to stop, and which one.

    Python handles a signal only between two of its own instructions, so never while a collective waits for a node
    that failed. Therefore a thread handles it, too, and ends the process when the step does not end: Slurm would kill
    it only after its KillWait (30 s by default), which delays the restart of the job.
    """

    def __init__(self) -> None:
        self.requested: Optional[str] = None
        self.step_seconds = 0.0
        """Seconds of the last step; set by the loop."""
        self.saving = False
        """A checkpoint is being written, which has no time limit."""
        self._reached = threading.Event()
        self._before: Dict[signal.Signals, Any] = {}

    def listen(self) -> None:
        """Python allows this only in the main thread of a process."""
        self._ear, mouth = os.pipe()
        os.set_blocking(mouth, False)
        signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
        threading.Thread(target=self._watch, name="stopping", daemon=True).start()
        self._before = {number: signal.signal(number, self._hear) for number in SIGNALS}

    def leave(self) -> None:
        """Restore the previous signal handlers."""
        self.reached()
        signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def reached(self) -> None:
        """The processes have agreed to stop: from here on, there is no time limit."""
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
