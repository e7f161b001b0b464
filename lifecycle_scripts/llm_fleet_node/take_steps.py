"""Runs the steps of a prepared node, saves their state, and reports the outcome."""

from __future__ import annotations

import time
from typing import Any, Optional

from llm_fleet_node import state as states
from llm_fleet_node import summary
from llm_fleet_node.arguments import Arguments
from llm_fleet_node.child import APPLY, REPAIR, VERIFY
from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.graph import Graph
from llm_fleet_node.limits import Limits
from llm_fleet_node.lock import Lock
from llm_fleet_node.log import NAME as LOG
from llm_fleet_node.log import Log, stamp
from llm_fleet_node.outcome import DONE, FAILED, RUNNING, Outcome
from llm_fleet_node.prepare import Prepared
from llm_fleet_node.run_steps import Runner
from llm_fleet_node.state import State, boot_id
from llm_fleet_node.timeline import slowest_path

_STATES = {RUNNING: states.RUNNING, DONE: states.DONE, FAILED: states.FAILED}


def take_steps(
    prepared: Prepared, requested: Arguments, limits: Limits, log: Log, started: float, record: dict[str, Any]
) -> Optional[Failure]:
    """Run the steps; add them to `record` and return the first failure. All failures are printed on standard error.

    `started` is the run's start in seconds since 1970. Raises `Failure` if another run is active.
    """
    node, graph = prepared.node, prepared.graph
    lock = Lock(node.places.state_dir, seconds=limits.lock)
    state = State(node.places.state_dir, bundle=node.manifest.content_hash, boot=boot_id(node.places.root))
    if state.remark:
        log.line(f"state: {state.remark}")
    how = _how(graph, requested, state, log)
    runner = Runner(
        graph,
        node,
        how=how,
        side_by_side=limits.side_by_side,
        clock=lambda: time.time() - started,
        changed=lambda outcome: _changed(outcome, state, log),
    )
    for name, outcome in runner.outcomes.items():
        outcome.verified_only = how[name] == VERIFY
    try:
        runner.run()
    finally:
        state.save(sync=True)
        failure = _report(graph, runner, log, node.places.log_dir / LOG, started, record)
    lock.release()
    if not state.trouble:
        return failure
    unkept = Failure(Code.STATE, state.trouble)
    log.line(str(unkept), error=True)
    return failure or unkept


def _how(graph: Graph, requested: Arguments, state: State, log: Log) -> dict[str, str]:
    """Return the steps to run, with the mode of each."""
    if requested.only:
        return {name: APPLY if name in requested.only else VERIFY for name in graph.with_needs(requested.only)}
    for name in graph.steps:
        if state.was_stopped(name):
            log.line(f"state: an earlier run was killed in {name}, which is applied again")
    return {name: REPAIR if state.was_done(name) else APPLY for name in graph.steps}


def _changed(outcome: Outcome, state: State, log: Log) -> None:
    """Save and log that a step began or ended."""
    name = outcome.step.name
    if outcome.state in _STATES and not outcome.verified_only:
        state.note(name, _STATES[outcome.state], attempts=outcome.attempts, at=stamp(time.time()))
        state.save()
    if outcome.state == RUNNING:
        log.line(f"[{name}] begins: {outcome.step.summary}")
        return
    if outcome.failure and outcome.verified_only:
        cause = f"{name} is needed, but its verification failed: {outcome.failure.code.code}  {outcome.failure.cause}"
        outcome.failure = Failure(Code.NEEDED_STEP_NOT_APPLIED, cause)
    for change in outcome.changes:
        log.line(f"[{name}] {change}")
    log.line(f"[{name}] {outcome.state}" + (f": {outcome.why}" if outcome.why else ""))
    log.sync()


def _report(
    graph: Graph, runner: Runner, log: Log, log_file: Any, started: float, record: dict[str, Any]
) -> Optional[Failure]:
    """Add the outcomes to the report, and print the summary; return the first failure."""
    outcomes = list(runner.outcomes.values())
    slowest = slowest_path(graph, runner.outcomes)
    failed = sorted((one for one in outcomes if one.failure), key=lambda one: one.ended or 0.0)
    record["steps"] = [outcome.describe(started) for outcome in outcomes]
    record["skipped"] = graph.skipped
    record["slowest_path"] = slowest
    record["failures"] = _described([one for one in failed if one.step.is_for_jobs])
    record["degraded"] = _described([one for one in failed if not one.step.is_for_jobs])
    for line in summary.lines(outcomes, slowest):
        log.line(line)
    for line in summary.failures(failed, log_file):
        log.line(line, error=True)
    return next((one.failure for one in failed if one.step.is_for_jobs), None)


def _described(failed: list[Outcome]) -> list[dict[str, str]]:
    return [
        {"step": one.step.name, "code": one.failure.code.code, "cause": one.failure.cause}
        for one in failed
        if one.failure
    ]
