"""Runs the step graph: independent steps in parallel, each attempt in a separate process."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Mapping
from typing import Optional

from llm_fleet_node.attempt import Attempt
from llm_fleet_node.child import APPLY, VERIFY
from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.graph import Graph
from llm_fleet_node.node import Node
from llm_fleet_node.outcome import DONE, FAILED, NOT_REACHED, RUNNING, WAITING, Outcome

_FIRST_PAUSE, _GROWTH, _LONGEST_PAUSE = 0.5, 2.0, 15.0
"""Seconds before a second attempt, and their growth: most temporary errors are short."""

Say = Callable[[str], None]


class Runner:
    """Runs the steps of a graph: a failed step stops only the steps that need it."""

    def __init__(
        self,
        graph: Graph,
        node: Node,
        *,
        how: Mapping[str, str],
        side_by_side: int,
        clock: Callable[[], float],
        changed: Callable[[Outcome], None],
    ) -> None:
        """Set the steps to run, each in its mode in `how` (see `child`), and the number of parallel steps.

        `clock` returns the seconds since the run's start. `changed` is called for each step that begins or ends.
        """
        self._graph = graph
        self._node = node
        self._how = how
        self._free = side_by_side
        self._clock = clock
        self._changed = changed
        self._again: dict[str, float] = {}
        self._running: list[Attempt] = []
        self._selector = selectors.DefaultSelector()
        weights = graph.weights()
        heaviest_first = sorted(how, key=lambda name: -weights[name])
        self.outcomes = {name: Outcome(graph.steps[name]) for name in heaviest_first}
        """The outcome of each step so far."""

    def run(self) -> None:
        """Run every step. After an interruption no attempt keeps running."""
        try:
            while True:
                self._begin()
                if not self._running and not self._again:
                    return
                self._wait()
        finally:
            for attempt in self._running:
                attempt.kill()
                self._hear(attempt)
                attempt.close()

    def _begin(self) -> None:
        """Start the steps that are ready, and mark those that cannot be reached, in topological order."""
        now = time.monotonic()
        for name, outcome in self.outcomes.items():
            if outcome.state == RUNNING or outcome.is_over or self._again.get(name, 0.0) > now:
                continue
            missing = [need for need in self._within(self._graph.needs[name]) if self._is_lost(need)]
            if missing:
                self._settle(outcome, NOT_REACHED, f"it needs {', '.join(missing)}")
            elif self._free and all(self.outcomes[before].is_over for before in self._within(self._graph.after[name])):
                self._again.pop(name, None)
                self._attempt(outcome)

    def _within(self, names: frozenset[str]) -> list[str]:
        return sorted(name for name in names if name in self.outcomes)

    def _is_lost(self, name: str) -> bool:
        return self.outcomes[name].state in (FAILED, NOT_REACHED)

    def _attempt(self, outcome: Outcome) -> None:
        if outcome.started is None:
            outcome.started = self._clock()
        outcome.state = RUNNING
        outcome.attempts += 1
        self._changed(outcome)
        how = self._how[outcome.step.name]
        attempt = Attempt(outcome.step, self._node, how if outcome.attempts == 1 or how == VERIFY else APPLY)
        self._free -= 1
        self._running.append(attempt)
        self._selector.register(attempt.output, selectors.EVENT_READ, attempt)
        self._selector.register(attempt.process, selectors.EVENT_READ, attempt)

    def _wait(self) -> None:
        """Wait for output, for the end of an attempt, or for a timeout."""
        due = [attempt.deadline for attempt in self._running] + list(self._again.values())
        seconds = max(0.0, min(due) - time.monotonic())
        ended: list[Attempt] = []
        for key, _ in self._selector.select(seconds):
            attempt: Attempt = key.data
            if key.fd == attempt.process:
                ended.append(attempt)
            else:
                self._hear(attempt)
        now = time.monotonic()
        for attempt in self._running:
            if attempt not in ended:
                attempt.end_in_time(now)
        for attempt in ended:
            self._end(attempt)

    def _hear(self, attempt: Attempt, *, last: bool = False) -> None:
        for line in attempt.lines(last=last):
            self.outcomes[attempt.step.name].output.append(line)
            self._node.say(f"[{attempt.step.name}] {line}")
        if attempt.is_silent and attempt.output in self._selector.get_map():
            self._selector.unregister(attempt.output)

    def _end(self, attempt: Attempt) -> None:
        self._hear(attempt, last=True)
        if not attempt.is_silent:
            self._selector.unregister(attempt.output)
        self._selector.unregister(attempt.process)
        self._running.remove(attempt)
        self._free += 1
        outcome = self.outcomes[attempt.step.name]
        result = attempt.close()
        outcome.changes += result.changes
        outcome.repaired = outcome.repaired or result.repaired
        outcome.seconds = result.seconds or {}
        outcome.failure = result.failure
        pause = self._pause(outcome)
        if pause is not None:
            self._again[outcome.step.name] = time.monotonic() + pause
            outcome.state = WAITING
            self._node.say(f"[{outcome.step.name}] {_reported(result.failure)}; retrying in {pause:g} s")
            return
        self._settle(outcome, FAILED if result.failure else DONE, "")

    def _pause(self, outcome: Outcome) -> Optional[float]:
        """Return the seconds before another attempt; `None` if there is none."""
        failure = outcome.failure
        if failure is None or failure.final or self._how[outcome.step.name] == VERIFY:
            return None
        if outcome.attempts > outcome.step.retries:
            return None
        return min(_FIRST_PAUSE * _GROWTH ** (outcome.attempts - 1), _LONGEST_PAUSE)

    def _settle(self, outcome: Outcome, state: str, why: str) -> None:
        outcome.state = state
        outcome.why = why
        if state != NOT_REACHED:
            outcome.ended = self._clock()
        self._changed(outcome)


def _reported(failure: Optional[Failure]) -> str:
    return f"{failure.code.code}  {failure.cause}" if failure else Code.UNEXPECTED_ERROR.code
