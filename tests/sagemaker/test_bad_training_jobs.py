"""Mistakes in training jobs, as edits of the valid fleet file; the construct uses the same rules."""

from pathlib import Path

import pytest

from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.sagemaker.training_job import check_training_job_place
from llm_fleet.spec.training_job import Spot, WarmPool
from llm_fleet.spec.training_job_code import SourceBundle, TrainingImage
from llm_fleet.spec.training_job_data import Channel, Checkpoints, InputMode, JobMetric
from tests.fleet_file import good_training_job as in_file
from tests.sagemaker import training_jobs as in_python

IMAGE, COUNT, LAUNCHER = "image: pytorch", "count: 2", "distribution: torchrun"
TYPE, LOSS, CHECKPOINTS = "ml.g5.12xlarge", '"loss=([0-9.]+)"', "checkpoints: true"
TRAIN = '{train: "s3://my-data/train"}'
TRCOMP = "763104351884.dkr.ecr.us-east-1.amazonaws.com/huggingface-pytorch-trcomp-training:1.11.0-gpu-py38"
PT16 = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:1.6.0-gpu-py36"
LONG = "gpt2-with-a-name-that-no-state-machine-is-given"

# name: edits of the file, code, path in the file, part of the remedy
BAD: dict[str, tuple[tuple[str, ...], str, str, str]] = {
    "a name too long": (("  gpt2:", f"  {LONG}:"), "LF900", "", "write `gpt2-with"),
    "a retired instance": ((TYPE, "ml.p3.2xlarge"), "LF901", "instance", "ml.g6e"),
    "no ml.": ((TYPE, "g5.12xlarge"), "LF902", "instance", "`ml.g5.12xlarge`"),
    "an unknown instance": ((TYPE, "ml.g5.13xlarge"), "LF902", "instance", "ml.g5.1"),
    "no instances": ((COUNT, "count: 0"), "LF971", "count", "write `1`"),
    "a volume with local disks": ((COUNT, "volume: 100 GiB"), "LF971", "volume", "remove"),
    "an invalid plan": ((COUNT, "training_plan: spring"), "LF971", "training_plan", "arn:aws:sagemaker"),
    "a retired image": ((IMAGE, "image: {kind: pytorch, version: '1.6.0'}"), "LF960", "image.version", "`2.10.0`"),
    "a retired image of Transformers": (
        (IMAGE, "image: {kind: hugging-face, version: '4.12.3'}"),
        "LF960",
        "image.version",
        "`5.3.0`",
    ),
    "an unknown image version": (
        (IMAGE, "image: {kind: pytorch, version: '2.14.1'}"),
        "LF960",
        "image.version",
        "`2.14.0`",
    ),
    "no address": ((IMAGE, "image: {uri: train}"), "LF960", "image.uri", "tag"),
    "Training Compiler": ((IMAGE, f"image: {TRCOMP}"), "LF970", "image.uri", "torch.compile"),
    "PyTorch 1.6 by address": ((IMAGE, f"image: {PT16}"), "LF970", "image.uri", "pytorch"),
    "GPUs' image on Trainium": ((TYPE, "ml.trn1.2xlarge"), "LF960", "image", "n"),
    "Neuron's image on GPUs": ((IMAGE, "image: pytorch-neuronx"), "LF960", "image", "`pytorch` or `hugging-face`"),
    "Transformers without GPUs": (
        (IMAGE, "image: hugging-face", TYPE, "ml.m5.xlarge"),
        "LF960",
        "image",
        "ml.g5.xlarge",
    ),
    "x86 images on Arm": ((TYPE, "ml.p6e-gb200.36xlarge"), "LF960", "image", "your own image"),
    "SMP on Blackwell": ((IMAGE, "image: smp", TYPE, "ml.p6-b200.48xlarge"), "LF960", "image", "p4d"),
    "no script": (("    source: train/train.py\n", ""), "LF961", "source", "the folder"),
    "a script outside of the folder": (
        ("train/train.py", "{folder: train, entry_point: ../train.py}"),
        "LF961",
        "source.entry_point",
        "train.py",
    ),
    "an absolute script": (
        ("train/train.py", "{folder: train, entry_point: /train.py}"),
        "LF961",
        "source.entry_point",
        "relative to the source folder",
    ),
    "a missing script": (("train/train.py", "train/trian.py"), "LF961", "source.entry_point", "`train.py`"),
    "torchrun of a shell script": (("train/train.py", "train/prepare.sh"), "LF961", "source.entry_point", ".py"),
    "a reserved hyperparameter": (
        ("epochs: 3", "sagemaker_program: x"),
        "LF962",
        "hyperparameters.sagemaker_program",
        "remove",
    ),
    "SMP v1": (("epochs: 3", "mp_parameters: {partitions: 2}"), "LF970", "hyperparameters.mp_parameters", "smp"),
    "a parameter server": (
        ("epochs: 3", "sagemaker_parameter_server_enabled: true"),
        "LF970",
        "hyperparameters.sagemaker_parameter_server_enabled",
        "torchrun",
    ),
    "a path of the state machine": (("epochs: 3", "epochs.$: 3"), "LF962", "hyperparameters.epochs.$", ".$"),
    "a hyperparameter too long": (("epochs: 3", f"text: {'x' * 2600}"), "LF962", "hyperparameters.text", "file"),
    "too many hyperparameters": (
        ("epochs: 3", ", ".join(f"p{i}: 1" for i in range(92))),
        "LF962",
        "hyperparameters",
        "file",
    ),
    "a secret": (("NCCL_DEBUG: WARN", "HF_TOKEN: x"), "LF962", "environment.HF", ""),
    "a secret by its value": (
        ("NCCL_DEBUG: WARN", f"HUB: hf_{'a' * 34}"),
        "LF962",
        "environment.HUB",
        "Secrets Manager",
    ),
    "not a valid name of an environment variable": (
        ("NCCL_DEBUG: WARN", "NCCL-DEBUG: WARN"),
        "LF962",
        "environment.NCCL-DEBUG",
        "underscores",
    ),
    "a reserved tag": (
        (COUNT, "tags: {'llm-fleet:training-job': x}"),
        "LF962",
        "tags.llm-fleet:training-job",
        "another key",
    ),
    "not an S3 URI": ((TRAIN, "{train: data}"), "LF963", "channels.train.s3", "s3://"),
    "no bucket": ((TRAIN, "{train: 's3://A_B/x'}"), "LF963", "channels.train.s3", "s3"),
    "no channel": ((TRAIN, "{'tr ain': 's3://abc/x'}"), "LF963", "channels", "train"),
    "gzip of files": (
        (TRAIN, "{train: {s3: 's3://abc/x', compressed: true}}"),
        "LF963",
        "channels.train.compressed",
        "in the script",
    ),
    "checkpoints without a bucket": ((CHECKPOINTS, "checkpoints: our-checkpoints"), "LF964", "checkpoints.s3", "s3://"),
    "checkpoints in the results": (
        (CHECKPOINTS, "checkpoints: {local_path: /opt/ml/model}"),
        "LF964",
        "checkpoints.local_path",
        "/opt/ml/checkpoints",
    ),
    "results without an S3 URI": ((COUNT, "output: here"), "LF964", "output.s3", "s3://"),
    "a warm pool above its cap": ((COUNT, "warm_pool: 2 h"), "LF965", "warm_pool.keep", "1 h"),
    "a cap above the service's": ((COUNT, "warm_pool: {keep: 1 h, cap: 7 h}"), "LF965", "warm_pool.cap", "6 h"),
    "a warm pool of zero seconds": ((COUNT, "warm_pool: 0 s"), "LF965", "warm_pool.keep", "write `1 s`"),
    "a warm pool on spot": ((COUNT, "warm_pool: 30 min\n    spot: true"), "LF965", "warm_pool", "spot"),
    "a run that is too long": ((COUNT, "max_run: 30 days"), "LF966", "max_run", "28 days"),
    "a wait shorter than the run": ((COUNT, "spot: {max_wait: 1 h}"), "LF966", "spot.max_wait", "1 day"),
    "zero retries": ((COUNT, "retries: 0"), "LF966", "retries", "no retries"),
    "too many retries": ((COUNT, "retries: 31"), "LF966", "retries", "30"),
    "too short to be pending": ((COUNT, "max_pending: 10 min"), "LF966", "max_pending", "30 min"),
    "pending without accelerators": (
        (COUNT, "max_pending: 1 h", TYPE, "ml.m5.xlarge"),
        "LF966",
        "max_pending",
        "remove",
    ),
    "a regex that does not compile": ((LOSS, '"loss=(["'), "LF967", "metrics.loss.regex", "write"),
    "a regex without a group": ((LOSS, '"loss="'), "LF967", "metrics.loss.regex", "parentheses"),
    "an alarm on every value": ((LOSS, "{regex: '(x)', above: 1, below: 2}"), "LF967", "metrics.loss.above", "greater"),
    "SMDDP on g5": (
        (LAUNCHER, "distribution: smddp", IMAGE, "image: smp"),
        "LF968",
        "distribution",
        "ml.p4d.24xlarge or ml.p4de.24xlarge",
    ),
    "SMDDP without its library": (
        (LAUNCHER, "distribution: smddp", TYPE, "ml.p4d.24xlarge"),
        "LF968",
        "distribution",
        "image `smp`",
    ),
    "MPI on Trainium": (
        (LAUNCHER, "distribution: mpi", TYPE, "ml.trn1.32xlarge", IMAGE, "image: pytorch-neuronx"),
        "LF968",
        "distribution",
        "torchrun",
    ),
    "processes without MPI": (
        (LAUNCHER, "distribution: {kind: torchrun, processes_per_host: 2}"),
        "LF968",
        "distribution.processes_per_host",
        "remove",
    ),
    "SMP in another image": (
        (LAUNCHER, "distribution: {kind: smp, smp: {hybrid_shard_degree: 8}}", TYPE, "ml.p4d.24xlarge"),
        "LF968",
        "distribution",
        "image `smp`",
    ),
    "SMP with too many processes": (
        (
            LAUNCHER,
            "distribution: {kind: smp, smp: {hybrid_shard_degree: 32}}",
            TYPE,
            "ml.p4d.24xlarge",
            IMAGE,
            "image: smp",
        ),
        "LF830",
        "distribution.smp",
        "16",
    ),
    "MLflow without a server": ((COUNT, "tracking: {}"), "LF969", "tracking", "MLflow"),
    "a name instead of an MLflow ARN": (
        (COUNT, "tracking: {mlflow: here}"),
        "LF969",
        "tracking.mlflow",
        "arn:aws:sagemaker",
    ),
    "a shell in isolation": (
        (COUNT, "remote_debug: true\n    network_isolation: true"),
        "LF971",
        "remote_debug",
        "isolation",
    ),
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return in_file.source_folder(tmp_path_factory.mktemp("job"))


def test_the_unedited_jobs_are_valid(directory: Path):
    assert in_file.problems(directory=directory) == ()
    assert in_python.problems(directory, {}) == ()


@pytest.mark.parametrize(("edits", "code", "path", "remedy"), BAD.values(), ids=BAD)
def test_a_mistake_in_the_file_is_reported(edits: tuple[str, ...], code: str, path: str, remedy: str, directory: Path):
    found = in_file.problems(*edits, directory=directory)
    job = f"training_jobs.{LONG if code == 'LF900' else 'gpt2'}"
    assert any(
        problem.code == code and problem.where.startswith(job) and path in problem.where and remedy in problem.remedy
        for problem in found
    ), found


def test_secrets_are_not_repeated(directory: Path):
    token = f"hf_{'b' * 34}"
    (problem,) = in_python.problems(directory, {"environment": {"HUB": token}})
    assert token not in str(problem)


def test_all_problems_are_reported_together(directory: Path):
    found = in_python.problems(
        directory,
        {
            "image": TrainingImage.pytorch("1.6.0"),
            "warm_pool": WarmPool(keep_alive_seconds=7200),
            "spot": Spot(),
            "metrics": {"loss": JobMetric(regex="(")},
            "channels": {"a": Channel(uri="x"), "b": Channel(file_system_id="fs-1", directory="data")},
        },
    )
    assert {problem.code.value for problem in found} == {"LF960", "LF963", "LF965", "LF967"}
    assert len([problem for problem in found if problem.path[:2] == ("channels", "b")]) == 2


def test_only_a_channel_in_s3_can_be_streamed(directory: Path):
    lustre = Channel(
        file_system_id="fs-0123456789abcdef0", directory="/fsx/a", input_mode=InputMode.FAST_FILE, sharded=True
    )
    found = in_python.problems(directory, {"channels": {"a": lustre}})
    assert {problem.where for problem in found} == {"channels.a.input_mode", "channels.a.sharded"}


def test_a_folder_that_is_missing_or_empty_is_a_problem(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / ".hidden").write_text("")
    for name, message in (("nothing", "this folder does not exist"), ("empty", "this folder is empty")):
        source = SourceBundle(folder=tmp_path / name, entry_point="train.py")
        (problem,) = in_python.problems(tmp_path, {"source": source})
        assert (problem.where, problem.message) == ("source.folder", message)


def test_an_alias_of_a_key_is_rejected_in_python_as_in_the_file(directory: Path):
    """IAM policies do not support aliases of keys."""
    (of_file,) = in_file.problems("checkpoints: true", "checkpoints: {key: alias/mine}", directory=directory)
    with pytest.raises(FleetError) as raised:
        Checkpoints(key_arn="alias/mine")
    (of_python,) = raised.value.problems
    assert of_file.code == of_python.code == "LF116"
    assert (of_file.message, of_file.remedy) == (of_python.message, of_python.remedy)


def test_torchrun_requires_a_script_and_not_a_package(tmp_path: Path):
    in_file.source_folder(tmp_path)
    (tmp_path / "train" / "setup.py").write_text("")
    (problem,) = in_python.problems(tmp_path, {})
    assert problem.code.value == "LF961"
    assert "setup.py" in problem.remedy


def test_an_image_of_aws_requires_a_known_region(directory: Path):
    token = "${Token[AWS.Region.4]}"
    (problem,) = check_training_job_place(in_python.spec(directory), region=token, has_network=True)
    assert (problem.where, problem.code) == ("image", "LF960")
    assert "`env`" in problem.remedy
    own = in_python.spec(directory, image=TrainingImage.of("111122223333.dkr.ecr.us-west-2.amazonaws.com/train:1.0"))
    assert check_training_job_place(own, region=token, has_network=True) == []


def test_a_file_system_requires_a_network(directory: Path):
    channels = {"a": Channel(uri="s3://abc/d"), "b": Channel(file_system_id="fs-0123456789abcdef0", directory="/fsx")}
    job = in_python.spec(directory, channels=channels)
    (problem,) = check_training_job_place(job, region="us-west-2", has_network=False)
    assert (problem.where, problem.code) == ("channels.b", "LF903")
    assert check_training_job_place(job, region="us-west-2", has_network=True) == []
