"""The catalog's list of settings is that of the batch files, and no setting is told in two of them."""

import os
import re
from dataclasses import fields

from llm_fleet.catalog.job_settings import job_stages, shared_settings
from llm_fleet.jobs.check_batch_file import check_batch_file
from llm_fleet.jobs.checkpoint import Checkpoint
from llm_fleet.jobs.served_export import ServedExport
from llm_fleet.jobs.templates import ORDER, RUN, jobs_folder, template
from llm_fleet.jobs.training_data import TrainingData
from llm_fleet.jobs.training_run import TrainingRun
from tools import make_job_settings

TRAINING = {"train", "train-nemo-megatron"}
"""Two ways to do the same: a run has one of them."""
FABRIC = {"test-nccl", "test-nccom"}


def test_generated_settings_are_those_of_the_batch_files() -> None:
    made = make_job_settings.text()
    if os.environ.get("UPDATE_GOLDEN"):
        make_job_settings.PLACE.write_text(made, encoding="utf-8")
    assert make_job_settings.PLACE.read_text(encoding="utf-8") == made, "batch files have changed: run `make golden`"


def test_every_batch_file_is_a_stage() -> None:
    assert {file.name for file in jobs_folder().glob("*.sbatch")} == {stage.file for stage in job_stages().values()}


def test_every_batch_file_is_right() -> None:
    known = {name: stage.settings for name, stage in job_stages().items()} | {RUN: shared_settings().settings}
    assert {
        name: found for name in (RUN, *ORDER) if (found := check_batch_file(template(name), known=known[name]))
    } == {}


def test_every_setting_says_what_it_is() -> None:
    silent = [
        name
        for one in (shared_settings(), *job_stages().values())
        for name, setting in one.settings.items()
        if not setting.comment
    ]
    assert silent == []


def test_no_setting_is_told_in_two_files() -> None:
    places: dict[str, set[str]] = {name: {RUN} for name in shared_settings().settings}
    for stage, facts in job_stages().items():
        for name in facts.settings:
            places.setdefault(name, set()).add(stage)
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert {name for name, found in twice.items() if found not in (TRAINING, FABRIC)} == set()


def test_nothing_else_assigns_a_setting() -> None:
    settings = set(shared_settings().settings).union(*(stage.settings for stage in job_stages().values()))
    assigned = re.compile(rf"(?:^|[;\s])(?:export |local )?({'|'.join(settings)})=", re.MULTILINE)
    shared = {file.name: file.read_text() for file in jobs_folder().glob("*.sh") if file.name != RUN}
    bodies = {name: template(name).partition("# End of settings")[2] for name in (RUN, *ORDER)}
    assert {name: found for name, text in {**shared, **bodies}.items() if (found := assigned.findall(text))} == {}


def test_both_trainings_begin_with_the_same_values() -> None:
    one, other = (job_stages()[name].settings for name in sorted(TRAINING))
    assert {name for name in one.keys() & other.keys() if one[name] != other[name]} == set()


def test_values_are_those_of_a_run_that_says_nothing() -> None:
    run = {one.name: one.default for one in fields(TrainingRun)}
    checkpoint = {one.name: one.default for one in fields(Checkpoint)}
    export = {one.name: one.default for one in fields(ServedExport)}
    data = {one.name: one.default for one in fields(TrainingData)}
    expected = {
        "train": {
            "STEPS": run["steps"],
            "WEIGHT_DECAY": run["weight_decay"],
            "MAX_RESTARTS": run["max_restarts"],
            "FROM_WEIGHTS": str(run["from_weights"]).lower(),
            "CHECKPOINT_EVERY": checkpoint["every"],
            "CHECKPOINTS_KEPT": checkpoint["keep"],
        },
        "export": {
            "SERVER": export["server"],
            "SERVED_ON": export["instance_type"],
            "SERVED_BATCH": export["batch_size"],
            "SERVED_SEQUENCE_LENGTH": export["sequence_length"],
        },
        "tokenize": {"TEXT_FIELD": data["text_field"]},
    }
    for stage, values in expected.items():
        settings = job_stages()[stage].settings
        assert {name: settings[name].default for name in values} == {name: str(one) for name, one in values.items()}
    learning_rate = job_stages()["train"].settings["LEARNING_RATE"].default
    assert learning_rate is not None
    assert float(learning_rate) == run["learning_rate"]
