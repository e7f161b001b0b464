"""HyperPod's node recovery: it performs requests in Slurm, and replaces a lost machine.

Emulated (SageMaker developer guide, automatic node recovery and manual replacement): a node with the Slurm reason
`Action:Replace` is replaced, one with `Action:Reboot` is rebooted; exact, case-sensitive. A lost machine is replaced
automatically (NodeRecovery=Automatic). Not emulated: the duration (20 to 30 minutes), and that a failed replacement is
not repeated. A lost machine is replaced shortly after Slurm has marked it down, so that Slurm's own reaction is seen
first: the job continues on a spare node.
"""

import threading
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol

from llm_fleet_local.drill.nodes.node import CommandError, Node
from llm_fleet_local.drill.slurm import NotInTime, Slurm

REPLACE, REBOOT = "Action:Replace", "Action:Reboot"
_PAUSE = 0.5
_PATIENCE = 20.0
"""Seconds between the moment when a node is down and its replacement."""
_HEALING = 180.0
"""Maximum seconds for the replacement of lost nodes after a scenario has failed."""


class Recoverable(Protocol):
    """A cluster whose nodes can be replaced and rebooted by name."""

    @property
    def slurm(self) -> Slurm:
        """Slurm commands on the controller."""
        ...

    @property
    def host_names(self) -> dict[str, str]:
        """The nodes' names by host name."""
        ...

    def node(self, name: str) -> Node:
        """Return a node by its name."""
        ...

    def replace(self, name: str) -> None:
        """Replace a node; return when its script has ended with 0."""
        ...

    def reboot(self, name: str) -> None:
        """Reboot a node."""
        ...

    def resume(self, name: str) -> None:
        """Make a node available to Slurm when it has registered."""
        ...


class Recovery(AbstractContextManager["Recovery"]):
    """The watcher, in its own thread until its context ends.

    Source: assumption hyperpod-recovery-by-slurm-reason
    """

    def __init__(self, cluster: Recoverable) -> None:
        """Watch `cluster`."""
        self._cluster = cluster
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="recovery", daemon=True)
        self.error: BaseException | None = None
        """The exception that ended the watcher early."""
        self._looks = 0
        self._down_since: dict[str, float] = {}
        self.recovered: list[str] = []
        """Names of the recovered nodes, in order."""

    def wait_for(self, name: str, *, seconds: float) -> None:
        """Wait until the watcher has recovered the node. Raises the watcher's exception, or `NotInTime`."""
        deadline = time.monotonic() + seconds
        while name not in self.recovered:
            if self.error is not None:
                raise self.error
            if time.monotonic() > deadline:
                raise NotInTime(f"{name} was not recovered within {seconds:g} s")
            time.sleep(_PAUSE / 5)

    def looks(self, times: int) -> None:
        """Wait until the watcher has checked the nodes `times` more times. Raises the watcher's exception."""
        wanted = self._looks + times
        while self._looks < wanted:
            if self.error is not None:
                raise self.error
            time.sleep(_PAUSE / 5)

    def __enter__(self) -> "Recovery":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):  # After Ctrl-C no scenario follows.
            self._recover_what_was_lost()
        self._end.set()
        self._thread.join()
        if self.error is not None and error is None:
            raise self.error

    def _recover_what_was_lost(self) -> None:
        """Let the watcher replace the nodes that a failed scenario lost, so that later scenarios do not fail."""
        deadline = time.monotonic() + _HEALING
        while self.error is None and time.monotonic() < deadline:
            names = self._cluster.host_names.values()
            if all(self._cluster.node(name).running for name in names) and not self._down_since:
                return
            time.sleep(_PAUSE)

    def _watch(self) -> None:
        try:
            while not self._end.wait(_PAUSE):
                self._look()
                self._looks += 1
        except BaseException as error:
            self.error = error

    def _look(self) -> None:
        slurm = self._cluster.slurm
        try:
            states, reasons = slurm.states(), slurm.reasons()
        except CommandError:
            return  # the controller does not answer: states are unknown
        for host, name in self._cluster.host_names.items():
            if reasons.get(host) == REBOOT:
                self._cluster.reboot(name)
                self._give_back(name)
            elif reasons.get(host) == REPLACE or self._is_lost(name, states.get(host, "")):
                self._cluster.replace(name)
                self._give_back(name)

    def _give_back(self, name: str) -> None:
        self._cluster.resume(name)
        self.recovered.append(name)

    def _is_lost(self, name: str, state: str) -> bool:
        if not state.startswith("down") or self._cluster.node(name).running:
            self._down_since.pop(name, None)
            return False
        return time.monotonic() - self._down_since.setdefault(name, time.monotonic()) > _PATIENCE
