"""Settings of a watch, of the fleet's or of one job's."""

from collections.abc import Iterator

from llm_fleet.config.sagemaker.job_watch import JobWatchConfig
from llm_fleet.config.sagemaker.watch import WatchConfig
from llm_fleet.config.sagemaker.watch_conditions import WatchConditionsConfig
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.watch_conditions import (
    check_grace,
    check_loss_spike,
    check_metric_name,
    check_stall,
    check_throughput_drop,
)
from llm_fleet.rules.sagemaker.watch_layout import check_layout
from llm_fleet.rules.sagemaker.watch_restart import check_restart


def check_watch_settings(watch: WatchConfig | JobWatchConfig) -> Iterator[Problem]:
    """Return what is wrong with restarts, conditions, layout and grace of `watch`, by attribute names."""
    if watch.restart is not None:
        yield from (problem.under("restart") for problem in check_restart(watch.restart))
    if watch.conditions is not None:
        yield from (problem.under("conditions") for problem in _check_conditions(watch.conditions))
    if watch.checkpoints is not None:
        yield from (problem.under("checkpoints") for problem in check_layout(watch.checkpoints))
    yield from check_grace(watch.grace_minutes)


def _check_conditions(conditions: WatchConditionsConfig) -> Iterator[Problem]:
    if conditions.loss_spike is not None:
        yield from (problem.under("loss_spike") for problem in check_loss_spike(conditions.loss_spike))
    if conditions.stall is not None:
        yield from (problem.under("stall") for problem in check_stall(conditions.stall))
    if conditions.not_a_number is not None:
        yield from (problem.under("not_a_number") for problem in check_metric_name(conditions.not_a_number))
    if conditions.throughput_drop is not None:
        yield from (problem.under("throughput_drop") for problem in check_throughput_drop(conditions.throughput_drop))
