"""The function understands what the construct tells it: read by its own code."""

import json

from llm_fleet.catalog.training_watch import training_watch_facts
from llm_fleet.functions.training_watch.layouts import Layout
from llm_fleet.functions.training_watch.settings import WATCH_TAG, Surroundings
from llm_fleet.spec.watch import RestartPolicy
from tests.sagemaker.watch.conftest import Watched


def surroundings(watched: Watched) -> Surroundings:
    variables = watched.only("AWS::Lambda::Function")["Environment"]["Variables"]
    return Surroundings.read(
        {name: value if isinstance(value, str) else "a-token" for name, value in variables.items()}
    )


def test_settings_of_all_jobs(watched: Watched) -> None:
    around = surroundings(watched)
    job = around.settings.of("Alice-1")
    assert (job.max_restarts, job.backoff_seconds, job.backoff_most_seconds) == (3, 60, 3600)
    assert not job.restart_at_max_runtime
    assert (job.grace_seconds, job.onset_margin_seconds) == (1800, 60)
    assert Layout.of(job.layout).step("checkpoint-500") == 500
    assert dict(job.alarms) == {
        "loss-spike": {"metric": "train:loss", "period": 60, "factor": 2.0, "datapoints": 3, "periods": 30},
        "stall": {"metric": "train:loss", "period": 60, "periods": 15},
        "nan": {"metric": "train:loss_nan", "period": 60},
        "throughput": {"metric": "train:speed", "period": 60, "fraction": 0.5, "datapoints": 10, "periods": 30},
    }


def test_settings_of_one_job_are_its_own_and_not_of_those_whose_names_go_on(watched: Watched) -> None:
    settings = surroundings(watched).settings
    own = settings.of("llama-20261122-000000-abcd")
    assert (own.max_restarts, own.backoff_seconds, own.restart_at_max_runtime, own.grace_seconds) == (1, 5, True, 300)
    assert dict(own.alarms) == {"stall": {"metric": "loss", "period": 60, "periods": 40}}
    assert Layout.of(own.layout) == Layout(folder=r"step_(\d+)", marker="done")
    assert settings.of("llama-large-20261122-000000-abcd") == settings.of("Alice-1")


def test_names_that_both_sides_know(watched: Watched) -> None:
    around = surroundings(watched)
    facts = training_watch_facts()
    assert facts.tag == WATCH_TAG
    assert around.alarm_prefix == f"{facts.alarm_prefix}fleet/"
    assert [around.watches(name, {}) for name in ("llama-1", "Alice-1", "bob-1")] == [True, True, False]
    assert around.settings.follows_cluster("train")


def test_the_function_knows_every_layout_by_its_name() -> None:
    assert all(Layout.of(name) for name in training_watch_facts().layouts)


def test_no_wait_is_longer_than_it_may_be() -> None:
    assert RestartPolicy(back_off_seconds=7200).longest_wait_seconds == 7200


def test_settings_fit_beside_the_other_variables(watched: Watched) -> None:
    text = watched.only("AWS::Lambda::Function")["Environment"]["Variables"]["SETTINGS"]
    assert json.loads(text)
    assert len(text) < 4096 - 512
