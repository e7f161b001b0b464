"""The settings of batch files."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from llm_fleet.catalog.training_environments import job_stages, shared_settings
from llm_fleet.jobs.batch_file import ORDER, RUN, check_batch_file, jobs_folder, template
from llm_fleet.jobs.settings import TrainingRun, directives, run_settings, stage_settings
from llm_fleet.spec.jobs import Backend, Checkpoint, ServedExport, TrainingData
from tests.rules.training.run.runs import LLAMA_3_8B, partition, run
from tools import make_job_settings
from tools.synth_environment import ROOT

JOBS = ROOT / "lifecycle_scripts" / "jobs"
SETTING = re.compile(r"^([A-Z][A-Z0-9_]*)=(\S*)", re.MULTILINE)


def written(path: Path) -> Mapping[str, str]:
    """The settings of a shipped batch file, or of run.sh."""
    block = path.read_text().split("# Settings\n")[1].split("# End of settings")[0]
    return dict(SETTING.findall(block))


def test_the_shipped_run_sh_has_the_default_settings_of_a_run():
    """`Llama-2-7B on 4 trn1`, as in its first line: a copied template and a rendered job are the same run."""
    shipped, given = written(JOBS / "run.sh"), run_settings(run(name="llama2-7b"))
    own = {"RUN_FOLDER", "ENVIRONMENT"}  # computed on the node
    assert {name: value for name, value in given.items() if name not in own} == {
        name: value for name, value in shipped.items() if name not in own
    }
    assert given["RUN_FOLDER"] == "/fsx/runs/llama2-7b"


def test_the_shipped_training_file_has_the_default_settings_of_a_run():
    for stage in ("train", "train-nemo-megatron"):
        shipped, given = written(JOBS / f"{stage}.sbatch"), stage_settings(run(), stage)
        assert set(given) <= set(shipped), stage
        for name, value in given.items():
            assert value == shipped[name] or float(value) == float(shipped[name]), (stage, name)


def test_every_setting_of_a_stage_is_in_its_file():
    whole = run(export=ServedExport(to="s3://models/llama"))
    for path in JOBS.glob("*.sbatch"):
        assert set(stage_settings(whole, path.stem)) <= set(written(path)), path.name
    assert {path.stem for path in JOBS.glob("*.sbatch") if stage_settings(whole, path.stem)} >= {"train", "tokenize"}


def test_values_of_a_run_are_rendered():
    given: dict[str, Any] = {"partition": partition("p5.48xlarge", 2), "model": LLAMA_3_8B, "shard_degree": 8}
    gpu = run(**given, revision="v1", seed=7, checkpoint=Checkpoint(mirror="s3://ours/x"))
    settings = run_settings(gpu)
    assert settings["BACKEND"] == "fsdp"
    assert settings["SHARD_DEGREE"] == "8"
    assert settings["TENSOR_PARALLEL"] == "1"
    assert (settings["REVISION"], settings["SEED"], settings["MIRROR"]) == ("v1", "7", "s3://ours/x")
    assert all(isinstance(value, str) for value in settings.values())
    export = stage_settings(run(export=ServedExport(to="s3://x/y", tensor_parallel=2, environment="tgi")), "export")
    assert (export["SERVED_TENSOR_PARALLEL"], export["EXPORT_ENVIRONMENT"]) == ("2", "tgi")
    assert stage_settings(run(), "export") == {}
    assert "FROM_WEIGHTS" not in stage_settings(run(backend=Backend.NEMO_MEGATRON), "train-nemo-megatron")


def test_each_stage_requests_the_nodes_that_it_requires():
    given = run(name="llama", nodes=2)
    assert directives(given, "train") == {"job-name": "llama-train", "partition": "nodes", "nodes": "2"}
    assert directives(given, "compile")["nodes"] == "2"  # the number of processes is part of the compiled graphs
    assert directives(given, "download")["nodes"] == "1"


TRAINING = {"train", "train-nemo-megatron"}
"""Alternatives: a run has one of them."""
FABRIC = {"test-nccl", "test-nccom"}


def test_the_generated_list_of_settings_is_up_to_date() -> None:
    made = make_job_settings.text()
    if os.environ.get("UPDATE_GOLDEN"):
        make_job_settings.PLACE.write_text(made, encoding="utf-8")
    assert make_job_settings.PLACE.read_text(encoding="utf-8") == made, "batch files have changed: run `make golden`"


def test_every_batch_file_is_listed_as_a_stage() -> None:
    assert {file.name for file in jobs_folder().glob("*.sbatch")} == {stage.file for stage in job_stages().values()}


def test_every_batch_file_is_valid() -> None:
    known = {name: stage.settings for name, stage in job_stages().items()} | {RUN: shared_settings().settings}
    assert {
        name: found for name in (RUN, *ORDER) if (found := check_batch_file(template(name), known=known[name]))
    } == {}


def test_every_setting_is_documented() -> None:
    silent = [
        name
        for one in (shared_settings(), *job_stages().values())
        for name, setting in one.settings.items()
        if not setting.comment
    ]
    assert silent == []


def test_no_setting_is_in_two_files() -> None:
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


def test_both_training_files_have_the_same_default_values() -> None:
    one, other = (job_stages()[name].settings for name in sorted(TRAINING))
    assert {name for name in one.keys() & other.keys() if one[name] != other[name]} == set()


def test_default_values_are_those_of_a_run() -> None:
    run, checkpoint, export, data = (
        {name: field.default for name, field in kind.model_fields.items()}
        for kind in (TrainingRun, Checkpoint, ServedExport, TrainingData)
    )
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
