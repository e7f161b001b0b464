"""The watch in the fleet file: short forms, and errors at their keys."""

import pytest

from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.problem import FleetError
from llm_fleet.spec.watch import WatchSpec

JOB = """
  llama:
    image: pytorch
    source: {folder: ., entry_point: train.py}
    instance: ml.g5.12xlarge
    checkpoints: true
    metrics: {loss: "loss=([0-9.]+)"}"""


def fleet_of(watch: str | None, job: str) -> str:
    """The text of a fleet file with a training job, and a watch where there is one."""
    line = "" if watch is None else f"watch: {watch}\n"
    return f"fleet: tiny\nregion: us-west-2\nnetwork: none\n{line}training_jobs:{job}\n"


def test_short_forms_are_equivalent_to_long_forms() -> None:
    short = "{restart: 2, when: {stall: loss, loss_spike: {metric: loss, for: 5 min}}, checkpoints: hugging-face}"
    long = (
        "{restart: {max: 2}, when: {stall: {metric: loss}, loss_spike: {metric: loss, for: 5 min}},"
        " checkpoints: {layout: hugging-face}}"
    )
    job = JOB
    assert parse_fleet(fleet_of(short, job)).watch == parse_fleet(fleet_of(long, job)).watch
    own = parse_fleet(fleet_of("{}", f"{job}\n    watch: {short}")).training_jobs["llama"].watch
    assert own == parse_fleet(fleet_of("{}", f"{job}\n    watch: {long}")).training_jobs["llama"].watch
    assert own is not None


def test_omitted_keys_have_the_defaults_of_the_construct() -> None:
    watch = parse_fleet(fleet_of("{}", JOB)).watch
    assert watch is not None
    assert watch.narrowed(WatchSpec) == WatchSpec()
    assert watch.clusters is None


@pytest.mark.parametrize(
    ("watch", "where", "code"),
    [
        ("{restart: {max: 200}}", "watch.restart.max", "LF985"),
        ("{restart: {wait: 2 h, longest_wait: 1 h}}", "watch.restart.longest_wait", "LF985"),
        ("{restart: {wait: 60}}", "watch.restart.wait", "LF115"),
        ("{when: {loss_spike: {metric: loss, factor: 1.0}}}", "watch.when.loss_spike.factor", "LF986"),
        ("{when: {stall: {metric: loss, for: 30 s}}}", "watch.when.stall.for", "LF115"),
        ("{when: {throughput_drop: {metric: loss, below: 2.0}}}", "watch.when.throughput_drop.below", "LF986"),
        ("{when: {nan: loss}}", "watch.when.nan", "LF110"),
        ("{checkpoints: hugging_face}", "watch.checkpoints.layout", "LF990"),
        ("{checkpoints: {pattern: 'step_('}}", "watch.checkpoints.pattern", "LF990"),
        ("{grace: 2000 min}", "watch.grace", "LF986"),
        ("{clusters: [train]}", "watch.clusters[0]", "LF991"),
        ("{others: {al: {}}, restart: 0}", "", ""),
        ("{others: {a: {}}, restart: 0}", "watch.others.a.prefix", "LF989"),
        ("{others: {alice: {}}}", "watch.others.alice.roles", "LF993"),
        ("{others: {bob: {prefix: alice-}, alice: {}}, restart: 0}", "watch.others.alice.prefix", "LF994"),
        ("{when: {stall: speed}}", "training_jobs.llama.metrics", "LF987"),
        ("{topic: pager}", "watch.topic", "LF116"),
    ],
)
def test_an_error_is_reported_at_its_key(watch: str, where: str, code: str) -> None:
    if not where:
        parse_fleet(fleet_of(watch, JOB))
        return
    with pytest.raises(FleetError) as error:
        parse_fleet(fleet_of(watch, JOB))
    assert (where, code) in [(problem.where, problem.code.value) for problem in error.value.problems]
    assert all(problem.remedy for problem in error.value.problems)


@pytest.mark.parametrize(
    ("watch", "job", "where", "code"),
    [
        ("{}", JOB.replace("checkpoints: true", "retries: 2"), "training_jobs.llama.checkpoints", "LF988"),
        ("{}", f"{JOB}\n    watch: {{when: {{stall: speed}}}}", "training_jobs.llama.watch.when.stall.metric", "LF987"),
        ("{}", f"{JOB}\n    watch: {{restart: 200}}", "training_jobs.llama.watch.restart.max", "LF985"),
        ("{}", f"{JOB}\n    watched: false\n    watch: {{restart: 2}}", "training_jobs.llama.watch", "LF117"),
        (None, f"{JOB}\n    watch: {{restart: 2}}", "training_jobs.llama.watch", "LF117"),
        ("{}", f"{JOB}\n    watched: false", "watch", "LF989"),
    ],
)
def test_missing_parts_of_a_watched_job_are_reported(watch: str | None, job: str, where: str, code: str) -> None:
    with pytest.raises(FleetError) as error:
        parse_fleet(fleet_of(watch, job))
    assert (where, code) in [(problem.where, problem.code.value) for problem in error.value.problems]
    unwatched = "watched: false\n" in job  # nothing else is watched then, which is also an error
    assert len(error.value.problems) == (2 if unwatched else 1)


def test_a_job_without_restarts_requires_no_checkpoints() -> None:
    job = JOB.replace("checkpoints: true", "watch: {restart: 0}")
    assert parse_fleet(fleet_of("{}", job)).training_jobs["llama"].checkpoints is None
