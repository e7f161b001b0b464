"""The data of a report: one run of the drill."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from llm_fleet_local.drill.training.outcome import Training

ENVIRONMENT = "training_environment"
"""The step that builds the environment of jobs."""
_SHORTEST_WAIT = 1.0
"""Seconds."""


@dataclass(frozen=True)
class StepRun:
    """One step in one start of a node. Times are seconds since 1970, `None` when it did not begin."""

    name: str
    summary: str
    state: str
    """`done`, `failed`, `not_reached` or `skipped`."""
    started: float | None
    ended: float | None
    seconds: Mapping[str, float]
    """Seconds of `apply` and `verify`."""
    changes: tuple[str, ...]
    attempts: int
    code: str | None
    cause: str | None
    remedy: str | None


@dataclass(frozen=True)
class ScriptRun:
    """One start of a node: its script, from the platform's call to its exit."""

    node: str
    role: str
    started: float
    ended: float
    exit_code: int
    code: str
    """`OK`, or the code of the failure; `none` when the node left no report."""
    cause: str | None
    remedy: str | None
    steps: tuple[StepRun, ...]
    slowest_path: tuple[str, ...]


@dataclass(frozen=True)
class StandInUse:
    """A stand-in that was called at least once, and the number of calls."""

    name: str
    plays: str
    refuses: str
    cannot: str
    calls: int


@dataclass(frozen=True)
class Environment:
    """The build of the training environment: one node builds it, and the others use it."""

    builder: str
    seconds: float
    """Seconds of the step on the node that built it, downloads included."""
    waited: int
    """Number of other nodes that waited until it was built, and verified it."""
    verify_seconds: float
    """Maximum seconds that a node took to verify it."""


@dataclass(frozen=True)
class Event:
    """One event of the run."""

    at: float
    node: str
    what: str
    text: str


@dataclass(frozen=True)
class Run:
    """One run of the drill."""

    title: str
    verdict: str
    """`healthy`, or one line about the error."""
    machine: str
    content_hash: str
    proof: tuple[str, ...]
    profile: Mapping[str, str]
    """Slurm's settings that differ from production."""
    started: float
    events: tuple[Event, ...]
    scripts: tuple[ScriptRun, ...]
    stand_ins: tuple[StandInUse, ...]
    timings: Mapping[str, float] = field(default_factory=dict[str, float])
    """Measured intervals in seconds, by description."""
    environment: Environment | None = None
    """The build of the training environment; `None` if the fleet has none."""
    training: Training | None = None
    """The training; `None` if nothing was trained."""


def read_script_run(
    report: Mapping[str, Any] | None, *, node: str, role: str, started: float, ended: float, exit_code: int
) -> ScriptRun:
    """Return one start of a node, from the node's `report` if it left one."""
    values = report or {}
    begun = _time(values.get("started"), started)
    return ScriptRun(
        node=node,
        role=role,
        started=started,
        ended=ended,
        exit_code=exit_code,
        code=str(values.get("code", "none")),
        cause=values.get("cause"),
        remedy=values.get("remedy"),
        steps=tuple(_step(step, begun) for step in cast("list[dict[str, Any]]", values.get("steps") or [])),
        slowest_path=tuple(values.get("slowest_path") or ()),
    )


def waited_for(run: ScriptRun, runs: Iterable[ScriptRun]) -> dict[str, str]:
    """Return the steps of `run` that changed nothing while another node ran the same step, with that node's name.

    Such a step waited for work that only one node does for all. Overlaps shorter than `_SHORTEST_WAIT` are coincidences
    of steps that each node does for itself.
    """
    others = [
        (other.node, step)
        for other in runs
        if other.node != run.node
        for step in other.steps
        if step.changes and step.started is not None and step.ended is not None
    ]
    return {
        step.name: node
        for step in run.steps
        if step.state == "done" and not step.changes and step.started is not None and step.ended is not None
        for node, work in others
        if work.name == step.name and step.started + _SHORTEST_WAIT < (work.ended or 0.0) <= step.ended
    }


def slowest_path(runs: Sequence[ScriptRun]) -> str:
    """Return the slowest node of `runs` and the steps that determined its end, as text; empty when unknown."""
    slowest = max(runs, key=lambda run: run.ended)
    if not slowest.slowest_path:
        return ""
    waits = waited_for(slowest, runs)
    steps = (f"{name} (waited for {waits[name]})" if name in waits else name for name in slowest.slowest_path)
    return f"{slowest.node}: {' → '.join(steps)}"


def environment_of(scripts: Iterable[ScriptRun]) -> Environment | None:
    """Return the build of the environment in the first starts of nodes; `None` if none was built."""
    firsts = {run.node: run for run in reversed(list(scripts))}
    steps = {name: step for name, run in firsts.items() for step in run.steps if step.name == ENVIRONMENT}
    built = [name for name, step in steps.items() if step.changes and step.state == "done"]
    if len(built) != 1:
        return None
    made = steps[built[0]]
    return Environment(
        builder=built[0],
        seconds=(made.ended or 0.0) - (made.started or 0.0),
        waited=len(steps) - 1,
        verify_seconds=max(step.seconds.get("verify", 0.0) for step in steps.values()),
    )


def _step(step: Mapping[str, Any], begun: float) -> StepRun:
    started, ended = step.get("started"), step.get("ended")
    return StepRun(
        name=str(step["name"]),
        summary=str(step.get("summary") or step["name"]),
        state=str(step["state"]),
        started=None if started is None else begun + float(started),
        ended=None if ended is None else begun + float(ended),
        seconds=dict(step.get("seconds") or {}),
        changes=tuple(step.get("changes") or ()),
        attempts=int(step.get("attempts") or 0),
        code=step.get("code"),
        cause=step.get("cause"),
        remedy=step.get("remedy"),
    )


def _time(stamp: object, otherwise: float) -> float:
    """Return the ISO time `stamp` in seconds since 1970."""
    return datetime.fromisoformat(stamp).timestamp() if isinstance(stamp, str) else otherwise
