"""Training jobs of the fleet file: short forms, hints for the SDK's keys, and the values of the construct."""

from pathlib import Path
from typing import Any

import pytest

from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.fleet_file.sagemaker import TrainingJobConfig
from llm_fleet.spec.training_job import OF_TRAINING_JOB, TrainingJobSpec
from llm_fleet.spec.training_job_code import (
    OF_DISTRIBUTION,
    OF_IMAGE,
    Distribution,
    DistributionKind,
    TrainingImage,
    TrainingImageKind,
)
from tests.fleet_file.good_training_job import edited, job, problems, source_folder
from tests.sagemaker.training_jobs import spec

TRAIN, COUNT, IMAGE, LAUNCHER = '{train: "s3://my-data/train"}', "count: 2", "image: pytorch", "distribution: torchrun"
NETWORK, CLOSED = "{azs: [usw2-az1, usw2-az2]}", "{azs: [usw2-az1, usw2-az2], internet: none}"
KEY = "arn:aws:kms:us-west-2:111122223333:key/01234567-89ab-cdef-0123-456789abcdef"
MLFLOW = "arn:aws:sagemaker:us-west-2:111122223333:mlflow-app/app-ABC"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return source_folder(tmp_path_factory.mktemp("fleet"))


def made(directory: Path, *edits: str) -> TrainingJobSpec:
    """Return the training job of the file after these edits."""
    fleet = parse_fleet(edited(*edits), directory=directory)
    buckets = {"models": ("our-models", KEY)}
    lustre = ("fs-0123456789abcdef0", "abcdef12")
    return fleet.training_jobs["gpt2"].in_fleet(fleet.name, tags=fleet.tags, buckets=buckets, lustre=lustre)


def values(described: TrainingJobSpec) -> dict[str, Any]:
    return described.model_dump(exclude={"source"})


def test_fleet_file_and_python_give_the_same_job(directory: Path):
    of_file, of_python = values(made(directory)), values(spec(directory))
    assert of_file.pop("name") == f"test-{of_python.pop('name')}"
    assert of_file == of_python


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ((), (IMAGE, "image: {kind: pytorch}")),
        ((), ("train/train.py", "{folder: train, entry_point: train.py}")),
        ((), (LAUNCHER, "distribution: {kind: torchrun}")),
        ((), (TRAIN, '{train: {s3: "s3://my-data/train"}}')),
        ((TRAIN, '"s3://my-data/train"'), (TRAIN, '{training: {s3: "s3://my-data/train"}}')),
        ((), ("checkpoints: true", "checkpoints: {}")),
        (("checkpoints: true", "checkpoints: s3://a-b/c"), ("checkpoints: true", "checkpoints: {s3: s3://a-b/c}")),
        ((), ('"loss=([0-9.]+)"', '{regex: "loss=([0-9.]+)"}')),
        ((COUNT, "spot: true"), (COUNT, "spot: {}")),
        ((COUNT, "spot: false"), (f"    {COUNT}\n", "")),
        ((COUNT, "warm_pool: 30 min"), (COUNT, "warm_pool: {keep: 1800 s, cap: 1 h}")),
        ((COUNT, "output: s3://a-b/c"), (COUNT, "output: {s3: s3://a-b/c, compress: true}")),
        ((COUNT, "schedule: rate(7 days)"), (COUNT, "schedule: {when: rate(7 days)}")),
        ((COUNT, "capacity_retries: 3"), (COUNT, "capacity_retries: {attempts: 3}")),
    ],
)
def test_short_forms_are_equivalent_to_long_forms(short: tuple[str, ...], long: tuple[str, ...], directory: Path):
    assert job(*short, directory=directory) == job(*long, directory=directory)


def test_an_image_can_be_set_by_its_address():
    address = "111122223333.dkr.ecr.us-west-2.amazonaws.com/train:1.0"
    image = job(IMAGE, f"image: {address}").image
    assert (image.kind, image.own_uri, image.version) == (TrainingImageKind.OWN, address, None)


def test_the_source_folder_is_relative_to_the_file(directory: Path):
    source = job(directory=directory).source
    assert source is not None
    assert source.path == directory / "train"
    assert source.files == {"train.py", "prepare.sh"}
    assert problems("train/train.py", "nothing/train.py") == (), "without a directory no file is looked for"
    (problem,) = problems("train/train.py", "nothing/train.py", directory=directory)
    assert (problem.where, problem.code) == ("training_jobs.gpt2.source.folder", "LF961")


def test_channels_can_use_the_storage_of_the_fleet(directory: Path):
    job = made(
        directory, TRAIN, "{a: {fsx: data/x, read_only: false}, b: {bucket: models, prefix: gpt2/}, c: {fsx: /}}"
    )
    lustre, bucket, whole = job.channels.values()
    assert (lustre.file_system_id, lustre.directory) == ("fs-0123456789abcdef0", "/abcdef12/data/x")
    assert not lustre.read_only
    assert (bucket.uri, bucket.key_arn) == ("s3://our-models/gpt2", KEY)
    assert whole.directory == "/abcdef12"
    assert job.needs_network


@pytest.mark.parametrize("word", OF_TRAINING_JOB)
def test_keys_of_the_sdk_are_reported_with_the_key_of_llm_fleet(word: str):
    (problem,) = [each for each in problems(COUNT, f"{word}: x") if each.path[-1] == word]
    assert (problem.code, problem.remedy) == ("LF110", OF_TRAINING_JOB[word])


def test_no_key_of_the_sdk_is_a_key_of_llm_fleet():
    assert not set(OF_TRAINING_JOB) & set(TrainingJobConfig.keys())
    assert not set(OF_IMAGE) & {*TrainingImage.keys(), *TrainingImageKind}
    assert not set(OF_DISTRIBUTION) & {*Distribution.keys(), *DistributionKind}


@pytest.mark.parametrize(
    ("edits", "where", "code", "remedy"),
    [
        ((IMAGE, "image: tensorflow"), "image.kind", "LF114", "your own image"),
        ((IMAGE, "image: training-compiler"), "image.kind", "LF114", "torch.compile"),
        ((LAUNCHER, "distribution: parameter_server"), "distribution.kind", "LF114", "torchrun"),
        ((LAUNCHER, "distribution: pytorchxla"), "distribution.kind", "LF114", "Training Compiler is discontinued"),
        ((LAUNCHER, "distribution: modelparallel"), "distribution.kind", "LF114", "version 2"),
        ((COUNT, "debugger_hook_config: false"), "debugger_hook_config", "LF110", "closed to new customers"),
        ((COUNT, "compiler_config: {}"), "compiler_config", "LF110", "torch.compile"),
        ((COUNT, "warm_pool: 1800"), "warm_pool.keep", "LF115", "`1800 s`"),
        ((COUNT, "max_run: 3600"), "max_run", "LF115", "`3600 s`"),
        ((TRAIN, "{a: {s3: s3://a-b/c, fsx: d}}"), "channels.a.fsx", "LF117", "keep one"),
        ((TRAIN, "{a: {sharded: true}}"), "channels.a", "LF963", "`s3`, `bucket` or `fsx`"),
        ((TRAIN, "{a: {prefix: x, s3: s3://a-b/c}}"), "channels.a.prefix", "LF117", "`bucket`"),
        ((TRAIN, "{a: {bucket: model}}"), "channels.a.bucket", "LF119", "`models`"),
        ((TRAIN, f"{{a: {{bucket: models, key: '{KEY}'}}}}"), "channels.a.key", "LF117", "remove it"),
        ((TRAIN, "{a: {fsx: ../x}}"), "channels.a.fsx", "LF963", "root"),
        ((TRAIN, "{a: {fsx: x}}", "  fsx: {size: 1200 GiB}\n", ""), "channels.a.fsx", "LF119", "storage"),
        ((COUNT, "bucket: model"), "bucket", "LF119", "`models`"),
        ((COUNT, "schedule: every day"), "schedule.when", "LF972", "cron"),
        ((COUNT, "logs: 17 days"), "logs", "LF966", ""),
        (
            (NETWORK, "none", TRAIN, "{a: {fsx: x}}", "  fsx: {size: 1200 GiB}\n", "  fsx: {}\n"),
            "channels.a",
            "LF903",
            "network",
        ),
        (
            ("us-west-2", "ap-southeast-7", NETWORK, "{az: apse7-az1}", IMAGE, "image: hugging-face"),
            "image",
            "LF960",
            "own",
        ),
        ((NETWORK, CLOSED, COUNT, f"tracking: {{mlflow: '{MLFLOW}'}}"), "tracking", "LF969", "internet: nat"),
        ((IMAGE, "image: {kind: own}"), "image.uri", "LF960", "registry"),
    ],
)
def test_errors_that_only_a_file_can_have(edits: tuple[str, ...], where: str, code: str, remedy: str):
    found = problems(*edits)
    at_place = [each for each in found if each.where == f"training_jobs.gpt2.{where}"]
    assert [each.code.value for each in at_place] == [code], [str(each) for each in found]
    assert remedy in at_place[0].remedy


def test_a_closed_network_cannot_download_requirements(tmp_path: Path):
    source_folder(tmp_path)
    (tmp_path / "train" / "requirements.txt").write_text("transformers\n")
    assert problems(directory=tmp_path) == ()
    for edits in ((NETWORK, CLOSED), (COUNT, "network_isolation: true")):
        (problem,) = problems(*edits, directory=tmp_path)
        assert (problem.where, problem.code) == ("training_jobs.gpt2.source", "LF961")
    inside = (NETWORK, CLOSED, "NCCL_DEBUG: WARN", "PIP_INDEX_URL: 'https://pypi.example.com/simple'")
    assert problems(*inside, directory=tmp_path) == ()


def test_addresses_of_the_instances_are_counted():
    (problem,) = problems(NETWORK, "{azs: [usw2-az1, usw2-az2], compute_cidr: 10.1.0.0/26}", COUNT, "count: 14")
    assert "gpt2" in str(problem)
    assert problems(NETWORK, "{azs: [usw2-az1, usw2-az2], compute_cidr: 10.1.0.0/26}") == ()
