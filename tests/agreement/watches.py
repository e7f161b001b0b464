"""One mistake in a fleet file and in Python."""

from collections.abc import Callable
from typing import Any

from llm_fleet import CheckpointLayout, LossSpike, RestartPolicy, Stall, ThroughputDrop, WatchedJobs

JOB = """
  llama:
    image: pytorch
    source: {folder: ., entry_point: train.py}
    instance: ml.g5.12xlarge
    checkpoints: true
    metrics: {loss: "loss=([0-9.]+)"}"""

BOTH: tuple[tuple[str, Callable[[], Any]], ...] = (
    ("{restart: {max: 101}}", lambda: RestartPolicy(maximum=101)),
    ("{when: {loss_spike: {metric: loss, factor: 0.5}}}", lambda: LossSpike(metric="loss", factor=0.5)),
    ("{when: {stall: {metric: loss, for: 1 min}}}", lambda: Stall(metric="loss", minutes=1)),
    (
        "{when: {throughput_drop: {metric: loss, for: 2 h}}}",
        lambda: ThroughputDrop(metric="loss", minutes=120),
    ),
    ("{checkpoints: {pattern: step}}", lambda: CheckpointLayout.of(pattern="step")),
    ("{others: {a_b: {}}, restart: 0}", lambda: WatchedJobs(prefix="a_b-")),
)


def fleet_of(watch: str | None, job: str) -> str:
    """The text of a fleet file with a training job, and a watch where there is one."""
    line = "" if watch is None else f"watch: {watch}\n"
    return f"fleet: tiny\nregion: us-west-2\nnetwork: none\n{line}training_jobs:{job}\n"
