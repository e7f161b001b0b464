"""What a run sets in its batch files, against the batch files themselves."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from llm_fleet.jobs.checkpoint import Checkpoint
from llm_fleet.jobs.served_export import ServedExport
from llm_fleet.jobs.settings import directives, run_settings, stage_settings
from llm_fleet.rules.training.run.terms import Backend
from tests.rules.training.run.runs import LLAMA_3_8B, partition, run
from tools.synth_environment import ROOT

JOBS = ROOT / "lifecycle_scripts" / "jobs"
SETTING = re.compile(r"^([A-Z][A-Z0-9_]*)=(\S*)", re.MULTILINE)


def written(path: Path) -> Mapping[str, str]:
    """The settings that a batch file, or run.sh, has as it is shipped."""
    block = path.read_text().split("# Settings\n")[1].split("# End of settings")[0]
    return dict(SETTING.findall(block))


def test_run_sh_as_it_is_shipped_is_the_run_that_says_nothing():
    """`Llama-2-7B on 4 trn1`, as its first line says: a copied template and a rendered job are the same run."""
    shipped, told = written(JOBS / "run.sh"), run_settings(run(name="llama2-7b"))
    own = {"RUN_FOLDER", "ENVIRONMENT"}  # worked out on the node
    assert {name: value for name, value in told.items() if name not in own} == {
        name: value for name, value in shipped.items() if name not in own
    }
    assert told["RUN_FOLDER"] == "/fsx/runs/llama2-7b"


def test_training_as_it_is_shipped_is_the_run_that_says_nothing():
    for stage in ("train", "train-nemo-megatron"):
        shipped, told = written(JOBS / f"{stage}.sbatch"), stage_settings(run(), stage)
        assert set(told) <= set(shipped), stage
        for name, value in told.items():
            assert value == shipped[name] or float(value) == float(shipped[name]), (stage, name)


def test_every_setting_of_a_stage_stands_in_its_file():
    whole = run(export=ServedExport(to="s3://models/llama"))
    for path in JOBS.glob("*.sbatch"):
        assert set(stage_settings(whole, path.stem)) <= set(written(path)), path.name
    assert {path.stem for path in JOBS.glob("*.sbatch") if stage_settings(whole, path.stem)} >= {"train", "tokenize"}


def test_what_is_told_is_set():
    told: dict[str, Any] = {"partition": partition("p5.48xlarge", 2), "model": LLAMA_3_8B, "shard_degree": 8}
    gpu = run(**told, revision="v1", seed=7, checkpoint=Checkpoint(mirror="s3://ours/x"))
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


def test_stages_take_the_nodes_that_they_need():
    told = run(name="llama", nodes=2)
    assert directives(told, "train") == {"job-name": "llama-train", "partition": "nodes", "nodes": "2"}
    assert directives(told, "compile")["nodes"] == "2"  # the number of processes is part of the compiled graphs
    assert directives(told, "download")["nodes"] == "1"
