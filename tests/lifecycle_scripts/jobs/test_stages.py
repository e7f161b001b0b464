"""The other stages: their commands, and their errors."""

from pathlib import Path

import pytest

from llm_fleet_training.__main__ import names
from tests.lifecycle_scripts.jobs.desk import JOBS, Desk, understood

VERBS = {
    "download": ("weights", ()),
    "tokenize": ("tokens", ("weights",)),
    "convert": ("huggingface", ("checkpoints",)),
}
"""By stage: its output, and its requirements."""


def verb_of(words: list[str]) -> str:
    return words[words.index("llm_fleet_training") + 1]


@pytest.mark.parametrize("platform", ["hyperpod", "parallelcluster"])
@pytest.mark.parametrize("stage", VERBS)
def test_a_stage_of_one_node_runs_its_verb(tmp_path: Path, stage: str, platform: str) -> None:
    made, needed = VERBS[stage]
    desk = Desk(tmp_path, platform=platform, accelerator="none").after(*needed)
    if stage == "tokenize":
        desk.set("tokenize.sbatch", DATA="'/fsx/my text'", TEXT_LINES="true")
    ended = desk.submit(stage)
    assert ended.code == 0, ended.said
    assert len(ended.of("python")) == 1
    verb = verb_of(ended.of("python")[0])
    assert (verb, verb in names()) == (stage, True)
    reported = understood(ended.of("python")[0])
    assert (reported.to.parent if verb == "download" else reported.run_folder) == desk.run
    assert f"{desk.run}/{made}" in ended.said.splitlines()[-2]
    assert "--auto-resume=1" not in ended.of("srun")[0]


def test_a_container_mounts_the_text_to_tokenize(tmp_path: Path) -> None:
    text = tmp_path / "s3/corpus.jsonl"
    text.parent.mkdir()
    text.write_text("")
    desk = Desk(tmp_path, kind="container").after("weights").set("tokenize.sbatch", DATA=str(text))
    (mounts,) = (word for word in desk.submit("tokenize").of("srun")[0] if word.startswith("--container-mounts="))
    seen = {Path(pair.split(":")[0]) for pair in mounts.partition("=")[2].split(",")}
    assert seen & {text, *text.parents}


@pytest.mark.parametrize("stage", VERBS)
def test_a_stage_ends_with_the_exit_code_of_its_verb(tmp_path: Path, stage: str) -> None:
    desk = Desk(tmp_path).after(*VERBS[stage][1]).set("tokenize.sbatch", DATA="/fsx/text")
    desk.behavior = {"python": {"codes": [3]}}
    ended = desk.submit(stage)
    assert (ended.code, "is done" in ended.said) == (3, False)


@pytest.mark.parametrize(("to", "verbs"), [("", ["export"]), ("s3://models/llama", ["export", "register"])])
def test_export_runs_in_its_own_environment_and_registers(tmp_path: Path, to: str, verbs: list[str]) -> None:
    desk = Desk(tmp_path).after("huggingface")
    desk.set("export.sbatch", EXPORT_TO=to, EXPORT_ENVIRONMENT="optimum", SERVED_TENSOR_PARALLEL="2")
    image = desk.shared / "llm-fleet/environments/optimum.sqsh"
    image.write_text("")
    (tmp_path / "bin/python3").symlink_to("recorder")
    ended = desk.submit("export", nodes=1)
    assert ended.code == 0, ended.said
    called = [*ended.of("python3"), *ended.of("python")]
    assert [verb_of(words) for words in called] == verbs
    for words in called:
        reported = understood(words)
        assert (reported.run_folder, reported.server, reported.instance_type) == (desk.run, "tgi", "inf2.xlarge")
        assert (reported.tensor_parallel, reported.batch_size, reported.sequence_length) == (2, 4, 4096)
    assert f"--container-image={image}" in ended.of("srun")[0]
    assert f"the service reads {to or 'nothing yet'}" in ended.said


def test_a_failed_export_is_not_registered(tmp_path: Path) -> None:
    desk = Desk(tmp_path).after("huggingface").set("export.sbatch", EXPORT_TO="s3://models/llama")
    desk.behavior = {"python": {"codes": [3]}}
    ended = desk.submit("export", nodes=1)
    assert (ended.code, len(ended.of("python"))) == (3, 1)


@pytest.mark.parametrize("kind", ["venv", "conda", "container"])
def test_compile_runs_the_training_command(tmp_path: Path, kind: str) -> None:
    desk = Desk(tmp_path, kind=kind).after("weights", "tokens").set("train.sbatch", STEPS="77")
    name = "python3" if kind == "container" else "python"
    compiled = desk.submit("compile", nodes=4)
    assert compiled.code == 0, compiled.said
    assert len(compiled.of("neuron_parallel_compile")) == 4
    words, trained = compiled.of(name)[0], desk.submit("train", nodes=4).of(name)[0]
    at = trained.index("--node_rank")
    assert words[at + 2 :] == [*trained[at + 2 :], "--compile-only", "4"]
    assert words[words.index("--steps") + 1] == "77"
    assert compiled.environment(name)["NEURON_CC_FLAGS"].startswith("--model-type transformer --distribution-strategy=")
    assert "note:" not in compiled.said


def test_compile_reports_another_number_of_nodes(tmp_path: Path) -> None:
    said = Desk(tmp_path).after("weights").submit("compile", nodes=1).said
    assert "note: train.sbatch requests 4 nodes, and the graphs depend on the number of nodes" in said


@pytest.mark.parametrize("stage", ["train-nemo-megatron", "compile"])
def test_nemo_megatron_gets_its_own_option_names(tmp_path: Path, stage: str) -> None:
    desk = nemo(Desk(tmp_path))
    ended = desk.submit(stage)
    assert ended.code == 0, ended.said
    words = ended.of("python")[0]
    assert "megatron_gpt_pretraining.py" in words
    for reported in ("model.num_layers=32", "trainer.devices=32", "model.data.data_prefix=[1.0,/dev/null]"):
        assert reported.replace("/dev/null", str(tmp_path / "my data")) in words
    compiling = stage == "compile"
    assert f"trainer.max_steps={4 if compiling else 1000}" in words
    assert f"exp_manager.resume_if_exists={not compiling}" in words
    assert bool(ended.of("neuron_parallel_compile")) is compiling
    assert ended.calls[-1]["folder"] == str(tmp_path / "nemo")


def nemo(desk: Desk) -> Desk:
    clone, data = desk.root / "nemo", desk.root / "my data"
    clone.mkdir()
    (clone / "megatron_gpt_pretraining.py").write_text("")
    for ending in ("bin", "idx"):
        data.with_suffix(f".{ending}").write_text("")
    desk.after("weights")
    shape = '{"num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 11008, "num_attention_heads": 32'
    (desk.run / "weights/config.json").write_text(f'{shape}, "rms_norm_eps": 1e-05}}')
    desk.set("run.sh", BACKEND="nemo-megatron")
    return desk.set("train-nemo-megatron.sbatch", NEMO_FOLDER=f"'{clone}'", NEMO_DATA=f"'{data}'")


def test_tensorboard_listens_only_on_loopback_and_prints_how_to_reach_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path, platform="hyperpod")
    report, resources = tmp_path / "var/log/llm-fleet/report.json", tmp_path / "opt/ml/config/resource_config.json"
    for place, text in (
        (report, '{"node": {"group": "workers", "instance_id": "i-0123456789abcdef0"}}'),
        (resources, '{"ClusterConfig": {"ClusterArn": "arn:aws:sagemaker:us-west-2:1:cluster/abc123def456"}}'),
    ):
        place.parent.mkdir(parents=True)
        place.write_text(text)
    ended = desk.submit("tensorboard", nodes=1)
    words = ended.of("tensorboard")[0]
    assert words[words.index("--host") + 1] == "127.0.0.1"
    assert "--target sagemaker-cluster:abc123def456_workers-i-0123456789abcdef0 " in ended.said
    assert "--parameters portNumber=6006,localPortNumber=6006" in ended.said


def test_nccl_is_measured(tmp_path: Path) -> None:
    desk = Desk(tmp_path, accelerator="gpu")
    desk.behavior = {"all_reduce_perf": {"says": "# Avg bus bandwidth    : 301.25 \n"}}
    ended = desk.submit("test-nccl", SLURM_GPUS_ON_NODE="8")
    assert (ended.code, "at 301.25 GB/s" in ended.said) == (0, True), ended.said
    assert {"--mpi=pmix", "--ntasks-per-node=32", "--ntasks=64", "--gres=gpu:8"} <= {*ended.of("srun")[0]}


@pytest.mark.parametrize(("nodes", "over_slurm"), [(1, False), (2, True)])
def test_nccom_is_measured(tmp_path: Path, nodes: int, over_slurm: bool) -> None:
    desk = Desk(tmp_path)
    desk.behavior = {"nccom-test": {"says": "Avg bus bandwidth:\t48.5GB/s\n"}}
    ended = desk.submit("test-nccom", nodes=nodes)
    assert (ended.code, "at 48.5 GB/s" in ended.said) == (0, True), ended.said
    words = ended.of("nccom-test")[0]
    assert words[:2] == ["--nworkers", str(32 * nodes)]
    assert ("--slurm-mode" in words) is over_slurm


@pytest.mark.parametrize(
    ("behavior", "said"),
    [
        ({"says": "Avg bus bandwidth:\t8.5GB/s\n"}, "reach 8.5 GB/s, but LEAST_BANDWIDTH is 40 GB/s"),
        ({"says": "1 errors found - test failed\n", "codes": [1]}, "the test failed"),
        ({"says": "nothing of that kind\n"}, "printed no bandwidth"),
    ],
)
def test_a_bad_fabric_ends_the_job(tmp_path: Path, behavior: dict[str, object], said: str) -> None:
    desk = Desk(tmp_path).set("test-nccom.sbatch", LEAST_BANDWIDTH="40")
    desk.behavior = {"nccom-test": behavior}
    ended = desk.submit("test-nccom")
    assert (ended.code, "LFJ49" in ended.said, said in ended.said) == (3, True, True), ended.said


def test_code_in_the_value_of_least_bandwidth_is_not_run(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    desk = Desk(tmp_path).set("test-nccom.sbatch", LEAST_BANDWIDTH=f"""'system("touch {ran}")'""")
    desk.behavior = {"nccom-test": {"says": "Avg bus bandwidth:\t8.5GB/s\n"}}
    assert desk.submit("test-nccom").of("nccom-test")
    assert not ran.exists()


def test_every_stage_has_a_test() -> None:
    executed = {*VERBS, "compile", "train", "train-nemo-megatron", "tensorboard", "test-nccl", "test-nccom", "export"}
    assert executed == {file.stem for file in JOBS.glob("*.sbatch")}
