"""The training batch file: on both platforms, in every kind of environment, and after a crash."""

import json
import os
import signal
from pathlib import Path

import pytest

from llm_fleet.catalog.training_environments import job_stages, shared_settings
from tests.lifecycle_scripts.jobs.desk import Desk, understood

FAILURE = "logs/failure-41.json"


def ready(place: Path, platform: str = "parallelcluster", kind: str = "venv") -> Desk:
    return Desk(place, platform=platform, kind=kind).after("weights", "tokens")


@pytest.mark.parametrize("platform", ["hyperpod", "parallelcluster"])
@pytest.mark.parametrize("kind", ["venv", "conda", "container"])
def test_each_node_starts_its_processes(tmp_path: Path, platform: str, kind: str) -> None:
    desk = ready(tmp_path, platform, kind)
    ended = desk.submit("train")
    assert ended.code == 0, ended.said
    python = ended.of("python3" if kind == "container" else "python")
    places = {(words[words.index("--node_rank") + 1], words[words.index("--master_addr") + 1]) for words in python}
    assert places == {("0", "trn1-st-a-4"), ("1", "trn1-st-a-4")}
    common = python[0][: python[0].index("--node_rank")]
    assert common == ["-m", "torch.distributed.run", "--nnodes", "2", "--nproc_per_node", "32"]
    options = ended.of("srun")[0]
    assert ("--auto-resume=1" in options) is (platform == "hyperpod")
    assert any(word.startswith("--container-image=") for word in options) is (kind == "container")
    assert not ended.of("aws")


def test_the_program_accepts_the_options_of_the_batch_file(tmp_path: Path) -> None:
    desk = ready(tmp_path).set("train.sbatch", FROM_WEIGHTS="true").set("run.sh", MIRROR="s3://bucket/my\\ run")
    words = desk.submit("train").of("python")[0]
    reported = understood(words)
    assert (reported.run_folder, reported.steps, reported.tensor_parallel, reported.global_batch) == (
        desk.run,
        1000,
        8,
        256,
    )
    assert (reported.from_weights, reported.mirror) == (desk.run / "weights", "s3://bucket/my run")
    assert (reported.precision, reported.activation_checkpointing, reported.backend) == ("mixed", "full", "neuron")


def test_a_job_prints_its_settings_at_the_start(tmp_path: Path) -> None:
    said = ready(tmp_path).submit("train", SLURM_RESTART_COUNT="3").said
    for expected in ("train of llama2-7b", "job          41, restart 3", "2: trn1-st-a-[4-5]", "neuron-2.28.1 (venv)"):
        assert expected in said
    assert said.rstrip().endswith("next: sbatch convert.sbatch")


def test_a_container_mounts_the_required_folders(tmp_path: Path) -> None:
    model = tmp_path / "models/llama"
    model.mkdir(parents=True)
    desk = ready(tmp_path, kind="container").set("run.sh", MODEL=f"'{model}'")
    desk.reported(LLM_FLEET_COMPILE_CACHE=str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    options = desk.submit("train").of("srun")[0]
    seen = mounted(options)
    for folder in (desk.shared / "llm-fleet", desk.run, desk.folder, model, tmp_path / "cache"):
        assert seen & {folder, *folder.parents}, f"{folder} is on none of {seen}"
    assert "--container-env=FI_PROVIDER,NEURON_RT_EXEC_TIMEOUT" in options


def test_a_container_mounts_the_whole_shared_file_system(tmp_path: Path) -> None:
    desk = ready(tmp_path, kind="container")
    stat = tmp_path / "bin/stat"
    stat.write_text(f'#!/bin/bash\n[[ "${{@: -1}}" == {desk.shared}/* ]] && echo {desk.shared} || echo /\n')
    stat.chmod(0o755)
    assert mounted(desk.submit("train").of("srun")[0]) - {Path("/etc/llm-fleet")} == {desk.shared, desk.folder}


def mounted(options: list[str]) -> set[Path]:
    (mounts,) = (word.removeprefix("--container-mounts=") for word in options if word.startswith("--container-mounts="))
    pairs = [pair.split(":") for pair in mounts.split(",")]
    assert all(here == there for here, there in pairs)
    assert len(pairs) == len({here for here, _ in pairs})
    return {Path(here) for here, _ in pairs}


@pytest.mark.parametrize(("counted", "requested"), [("8", ["--gres=gpu:8"]), ("", []), ("0", [])])
def test_a_step_requests_the_gpus_of_its_job(tmp_path: Path, counted: str, requested: list[str]) -> None:
    desk = ready(tmp_path).set("run.sh", BACKEND="fsdp", TENSOR_PARALLEL="1").reported(LLM_FLEET_ACCELERATOR="gpu")
    options = desk.submit("train", SLURM_GPUS_ON_NODE=counted).of("srun")[0]
    assert [word for word in options if word.startswith("--gres")] == requested


@pytest.mark.parametrize(
    ("stage", "newer", "running", "refused"),
    [("train", False, "40\n", True), ("train", False, "", False), ("convert", False, "40\n", False),
     ("train", True, "40\n", False)],
)  # fmt: skip
def test_two_jobs_do_not_train_in_one_folder(
    tmp_path: Path, stage: str, newer: bool, running: str, refused: bool
) -> None:
    desk = ready(tmp_path)
    mark = desk.run / "logs/.job-40"
    mark.parent.mkdir()
    mark.write_text(f"{stage}\n")
    if newer:
        os.utime(mark, (4e9, 4e9))
    desk.behavior = {"squeue": {"says": running}}
    ended = desk.submit("train")
    assert (ended.code, bool(ended.of("python"))) == ((3, False) if refused else (0, True)), ended.said
    assert ("job 40 is already training in" in ended.said) is refused


def test_fabric_variables_are_passed_on_and_those_of_the_job_take_precedence(tmp_path: Path) -> None:
    desk = ready(tmp_path)
    environment = desk.submit("train", NEURON_RT_EXEC_TIMEOUT="7").environment("python")
    assert (environment["FI_PROVIDER"], environment["NEURON_RT_EXEC_TIMEOUT"]) == ("efa", "7")
    assert environment["NEURON_COMPILE_CACHE_URL"] == str(desk.shared / "llm-fleet/compile-cache")
    assert environment["PATH"].startswith(f"{desk.shared}/llm-fleet/environments/neuron-2.28.1/bin:")


@pytest.mark.parametrize(
    ("accelerator", "processes", "threads"), [("neuron", 2, "1"), ("none", 2, "64"), ("none", 999, "1")]
)
def test_processes_share_the_processors(tmp_path: Path, accelerator: str, processes: int, threads: str) -> None:
    """With accelerators one thread for each process is enough; more would only wait for each other."""
    desk = ready(tmp_path).set("run.sh", BACKEND="cpu" if accelerator == "none" else "neuron")
    desk.reported(LLM_FLEET_ACCELERATOR=accelerator, LLM_FLEET_PROCESSES=str(processes))
    (tmp_path / "bin/nproc").write_text("#!/bin/sh\necho 128\n")
    (tmp_path / "bin/nproc").chmod(0o755)
    assert desk.submit("train").environment("python")["OMP_NUM_THREADS"] == threads


def test_smp_gets_the_collectives_to_use(tmp_path: Path) -> None:
    desk = ready(tmp_path).set("run.sh", BACKEND="smp", SMP_BACKEND="nccl")
    desk.reported(LLM_FLEET_ACCELERATOR="gpu")
    (desk.folder / "smp_config.json").write_text("{}")
    ended = desk.submit("train")
    assert ended.environment("python")["LLM_FLEET_SMP_BACKEND"] == "nccl"
    assert understood(ended.of("python")[0]).smp_config == desk.folder / "smp_config.json"


@pytest.mark.parametrize(("restart", "requeued"), [("", True), ("9", True), ("10", False)])
def test_a_crashed_job_is_requeued_up_to_a_limit(tmp_path: Path, restart: str, requeued: bool) -> None:
    desk = ready(tmp_path)
    desk.behavior = {"python": {"codes": [1]}}
    ended = desk.submit("train", SLURM_RESTART_COUNT=restart)
    assert ended.code != 0
    assert (["requeue", "41"] in ended.of("scontrol")) is requeued
    assert ("LFJ48" in ended.said) is not requeued
    assert "is done" not in ended.said


def test_a_failure_that_no_restart_fixes_is_final(tmp_path: Path) -> None:
    desk = ready(tmp_path)
    word = json.dumps({"code": "LFJ12", "cause": "another model", "remedy": "…", "final": True})
    desk.behavior = {"python": {"codes": [1], "writes": {str(desk.run / FAILURE): word}}}
    ended = desk.submit("train")
    assert (ended.code, ["requeue", "41"] in ended.of("scontrol")) == (3, False)
    assert "another model" in ended.said


def test_the_failure_of_an_earlier_start_is_ignored(tmp_path: Path) -> None:
    desk = ready(tmp_path)
    (desk.run / "logs").mkdir()
    (desk.run / FAILURE).write_text("{}")
    assert desk.submit("train").code == 0


def test_code_in_a_value_is_not_run(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    desk = ready(tmp_path)
    for number, name in enumerate(shared_settings().settings):
        if name not in ("RUN_FOLDER", "BACKEND", "ENVIRONMENT", "PRECISION"):
            desk.set("run.sh", **{name: f"'x[$(touch {ran}-{number})]'"})
    desk.set("run.sh", RUN_FOLDER=f"'{desk.run}'")
    for name in job_stages()["train"].settings:
        desk.set("train.sbatch", **{name: f"'x[$(touch {ran}-{name})]'"})
    desk.behavior = {"python": {"codes": [1]}}
    ended = desk.submit("train")
    assert "LFJ48" in ended.said
    assert list(tmp_path.glob("ran*")) == []


def test_a_failed_requeue_is_reported(tmp_path: Path) -> None:
    desk = ready(tmp_path)
    desk.behavior = {"python": {"codes": [1]}, "scontrol": {"codes": [1], "says": "Requested operation is disabled"}}
    ended = desk.submit("train")
    assert (ended.code, "LFJ48" in ended.said, "Slurm could not requeue job" in ended.said) == (3, True, True)


@pytest.mark.parametrize("finished", [False, True])
def test_before_the_time_limit_the_program_gets_a_signal_and_the_job_is_requeued(
    tmp_path: Path, finished: bool
) -> None:
    desk = ready(tmp_path)
    writes = {str(desk.run / "result.json"): "{}"} if finished else {}
    desk.behavior = {"python": {"waits": True, "writes": writes}}
    ended = desk.submit("train", signals=signal.SIGUSR1, LISTENS="python")
    assert (["requeue", "41"] in ended.of("scontrol")) is not finished, ended.said
    assert ended.said.count("heard USR1") == 2
    assert ("time limit" in ended.said) is not finished


def test_the_signal_does_not_kill_the_launcher(tmp_path: Path) -> None:
    desk = ready(tmp_path)
    desk.behavior = {"python": {"waits": True, "says": "torchrun ended by itself\n"}}
    ended = desk.submit("train", signals=signal.SIGUSR1)
    assert ended.said.count("torchrun ended by itself") == 2, ended.said


def test_a_job_that_slurm_ends_is_not_requeued(tmp_path: Path) -> None:
    desk = ready(tmp_path)
    desk.behavior = {"python": {"waits": True, "codes": [1]}}
    ended = desk.submit("train", signals=signal.SIGTERM)
    assert (ended.code, ["requeue", "41"] in ended.of("scontrol")) == (143, False), ended.said


def test_a_node_with_another_folder_at_the_same_path_ends_the_step(tmp_path: Path) -> None:
    desk = ready(tmp_path)
    script = desk.root / "bin/srun"
    script.unlink()
    script.write_text('#!/bin/bash\nrm "${LLM_FLEET_RUN_MARK}"\nwhile [[ "$1" == --* ]]; do shift; done\n"$@"\n')
    script.chmod(0o755)
    ended = desk.submit("train")
    assert "LFJ43" in ended.said
    assert not ended.of("python")
