"""What the function is told, as the text of one variable. Pure; plain values only."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from llm_fleet.catalog.training_watch import training_watch_facts
from llm_fleet.rules.sagemaker.watch_conditions import told_or
from llm_fleet.rules.sagemaker.watch_restart import (
    first_wait,
    longest_wait,
    most_restarts,
    restarts_at_max_runtime,
)
from llm_fleet.sagemaker.watch.checkpoint_layout import CheckpointLayout
from llm_fleet.sagemaker.watch.conditions import WatchCondition
from llm_fleet.sagemaker.watch.job_watch import JobWatch
from llm_fleet.sagemaker.watch.loss_spike import LossSpike
from llm_fleet.sagemaker.watch.not_a_number import NotANumber
from llm_fleet.sagemaker.watch.restart_policy import RestartPolicy
from llm_fleet.sagemaker.watch.stall import Stall
from llm_fleet.sagemaker.watch.throughput_drop import ThroughputDrop

EVERY_CLUSTER = "*"
"""Of those whose events the rule lets through."""


def settings_text(everyone: JobWatch, *, prefixes: Sequence[str], own: Mapping[str, JobWatch], clusters: bool) -> str:
    """Return the settings of all jobs (`everyone`), of those whose names begin with the keys of `own`, as JSON."""
    document: dict[str, Any] = {
        **job_settings(everyone),
        "onset_margin_seconds": training_watch_facts().onset_margin_seconds,
        "prefixes": list(prefixes),
        "clusters": [EVERY_CLUSTER] if clusters else [],
    }
    jobs = _own_settings(own)
    if jobs:
        document["jobs"] = jobs
    return json.dumps(document, separators=(",", ":"))


def job_settings(watch: JobWatch) -> dict[str, Any]:
    """Return what `watch` tells, in the function's words."""
    told: dict[str, Any] = {}
    if watch.restart is not None:
        told |= _restart(watch.restart)
    if watch.conditions is not None:
        told["alarms"] = dict(map(_alarm, watch.conditions))
    if watch.checkpoints is not None:
        told["layout"] = _layout(watch.checkpoints)
    if watch.grace_minutes is not None:
        told["grace_seconds"] = watch.grace_minutes * 60
    return told


def _own_settings(own: Mapping[str, JobWatch]) -> dict[str, dict[str, Any]]:
    """Return what jobs have of their own; nothing, said aloud, of a job whose name another's prefix catches."""
    told = {prefix: job_settings(watch) for prefix, watch in own.items()}
    return {
        prefix: settings
        for prefix, settings in told.items()
        if settings or any(told[other] and prefix.startswith(other) for other in told)
    }


def _restart(restart: RestartPolicy) -> dict[str, Any]:
    return {
        "max_restarts": most_restarts(restart),
        "backoff_seconds": first_wait(restart),
        "backoff_most_seconds": longest_wait(restart),
        "restart_at_max_runtime": restarts_at_max_runtime(restart),
    }


def _layout(layout: CheckpointLayout) -> str | dict[str, str | None]:
    if layout.known is not None:
        return layout.known
    return {"folder": layout.pattern, "marker": layout.marker, "pointer": layout.pointer}


def _alarm(condition: WatchCondition) -> tuple[str, dict[str, Any]]:
    facts = training_watch_facts()
    period = facts.metric_period_seconds
    alarm: dict[str, Any] = {"metric": condition.metric, "period": period}
    match condition:
        case LossSpike():
            factor = facts.loss_spike.factor if condition.factor is None else condition.factor
            numbers = {
                "factor": factor,
                "datapoints": told_or(condition.minutes, facts.loss_spike.minutes),
                "periods": told_or(condition.window_minutes, facts.loss_spike.window_minutes),
            }
            return "loss-spike", alarm | numbers
        case Stall():
            return "stall", alarm | {"periods": told_or(condition.minutes, facts.stall.minutes)}
        case ThroughputDrop():
            drop = facts.throughput_drop
            numbers = {
                "fraction": drop.below_fraction if condition.below_fraction is None else condition.below_fraction,
                "datapoints": told_or(condition.minutes, drop.minutes),
                "periods": told_or(condition.window_minutes, drop.window_minutes),
            }
            return "throughput", alarm | numbers
        case NotANumber():
            return "nan", alarm
