"""What cannot be trained: refused by the construct's values and by the fleet file, with the same code and words."""

from pathlib import Path
from typing import Any

import pytest

from llm_fleet.rules.sagemaker.training_job import check_training_job_place
from llm_fleet.rules.sagemaker.training_job_terms import InputMode
from llm_fleet.sagemaker.training_job.channel import Channel
from llm_fleet.sagemaker.training_job.checkpoints import Checkpoints
from llm_fleet.sagemaker.training_job.distribution import Distribution
from llm_fleet.sagemaker.training_job.job_metric import JobMetric
from llm_fleet.sagemaker.training_job.source_bundle import SourceBundle
from llm_fleet.sagemaker.training_job.spot import Spot
from llm_fleet.sagemaker.training_job.training_image import TrainingImage
from llm_fleet.sagemaker.training_job.warm_pool import WarmPool
from tests.config import good_training_job as in_file
from tests.sagemaker.training_job import good_spec as in_python
from tests.sagemaker.training_job.bad_jobs import BAD, LONG


def told(found: tuple[Any, ...], code: str) -> list[Any]:
    return [problem for problem in found if problem.code == code]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return in_file.source_folder(tmp_path_factory.mktemp("job"))


def test_the_good_ones_are_good(directory: Path):
    assert in_file.problems(directory=directory) == ()
    assert in_python.problems(directory, {}) == ()


@pytest.mark.parametrize(("edits", "changes", "code", "path", "remedy"), BAD.values(), ids=BAD)
def test_refused_by_the_file_and_by_python_alike(
    edits: tuple[str, ...], changes: dict[str, Any], code: str, path: str, remedy: str, directory: Path
):
    made: dict[str, Any] = {name: value(directory) if callable(value) else value for name, value in changes.items()}
    of_file = told(in_file.problems(*edits, directory=directory), code)
    of_python = told(in_python.problems(directory, made), code)
    assert of_file, in_file.problems(*edits, directory=directory)
    assert of_python, in_python.problems(directory, made)
    assert {problem.message for problem in of_file} == {problem.message for problem in of_python}
    assert any(problem.where.startswith(f"training_jobs.{LONG if code == 'LF900' else 'gpt2'}") for problem in of_file)
    assert any(path in problem.where for problem in of_file), [problem.where for problem in of_file]
    assert any(remedy in problem.remedy for problem in of_file), [problem.remedy for problem in of_file]


def test_secrets_are_not_repeated(directory: Path):
    token = f"hf_{'b' * 34}"
    (problem,) = in_python.problems(directory, {"environment": {"HUB": token}})
    assert token not in str(problem)


WRONG_CLASSES: dict[str, dict[str, Any]] = {
    "image": {"image": "pytorch"},
    "source": {"source": "train/train.py"},
    "instance_count": {"instance_count": "2"},
    "spot": {"spot": True},
    "warm_pool": {"warm_pool": 1800},
    "channels": {"channels": {"train": "s3://abc"}},
    "channels[0]": {"channels": ("s3://abc",)},
    "channels[0].input_mode": {"channels": (Channel.s3("a", "s3://abc/d", input_mode="FastFile"),)},  # pyright: ignore
    "checkpoints": {"checkpoints": "s3://abc"},
    "metrics[0]": {"metrics": ({"Name": "a", "Regex": "(x)"},)},
    "distribution": {"distribution": "torchrun"},
    "distribution.smp_configuration": {"distribution": Distribution.smp({"hybrid_shard_degree": 8})},  # pyright: ignore
    "tracking": {"tracking": "arn:aws:sagemaker:…"},
    "remote_debug": {"remote_debug": "yes"},
    "hyperparameters": {"hyperparameters": ["--epochs", "3"]},
    "checkpoints.uri": {"checkpoints": Checkpoints(uri=3)},  # pyright: ignore[reportArgumentType]
}


@pytest.mark.parametrize("where", WRONG_CLASSES)
def test_a_value_of_another_class_is_a_problem_too(where: str, directory: Path):
    (problem,) = in_python.problems(directory, WRONG_CLASSES[where])
    assert problem.where == where
    assert "write" in problem.remedy


def test_all_is_told_at_once(directory: Path):
    found = in_python.problems(
        directory,
        {
            "image": TrainingImage.pytorch("1.6.0"),
            "warm_pool": WarmPool(keep_alive_seconds=7200),
            "spot": Spot(),
            "metrics": (JobMetric(name="loss", regex="("),),
            "channels": (Channel.s3("a", "x"), Channel.lustre("b", "fs-1", directory="data")),
        },
    )
    assert {problem.code.value for problem in found} == {"LF960", "LF963", "LF965", "LF967"}
    assert len([problem for problem in found if problem.path[:2] == ("channels", 1)]) == 2


def test_only_a_channel_in_s3_is_streamed(directory: Path):
    lustre = Channel(
        name="a",
        file_system_id="fs-0123456789abcdef0",
        directory="/fsx/a",
        input_mode=InputMode.FAST_FILE,
        sharded=True,
    )
    found = in_python.problems(directory, {"channels": (lustre,)})
    assert {problem.where for problem in found} == {"channels[0].input_mode", "channels[0].sharded"}


def test_a_folder_that_is_none_is_told_by_the_bundle(tmp_path: Path):
    with pytest.raises(ValueError, match="there is no such folder"):
        SourceBundle(tmp_path / "nothing", entry_point="train.py")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / ".hidden").write_text("")
    with pytest.raises(ValueError, match="there is nothing in this folder"):
        SourceBundle(tmp_path / "empty", entry_point="train.py")


def test_a_package_is_nothing_for_torchrun(tmp_path: Path):
    in_file.source_folder(tmp_path)
    (tmp_path / "train" / "setup.py").write_text("")
    (problem,) = in_python.problems(tmp_path, {})
    assert problem.code.value == "LF961"
    assert "setup.py" in problem.remedy


def test_an_image_of_aws_needs_a_region_that_is_known(directory: Path):
    token = "${Token[AWS.Region.4]}"
    (problem,) = check_training_job_place(in_python.spec(directory), region=token, has_network=True)
    assert (problem.where, problem.code) == ("image", "LF960")
    assert "`env`" in problem.remedy
    own = in_python.spec(directory, image=TrainingImage.of("111122223333.dkr.ecr.us-west-2.amazonaws.com/train:1.0"))
    assert check_training_job_place(own, region=token, has_network=True) == []


def test_a_file_system_needs_a_network(directory: Path):
    channels = (Channel.s3("a", "s3://abc/d"), Channel.lustre("b", "fs-0123456789abcdef0", directory="/fsx"))
    asked = in_python.spec(directory, channels=channels)
    (problem,) = check_training_job_place(asked, region="us-west-2", has_network=False)
    assert (problem.where, problem.code) == ("channels[1]", "LF903")
    assert check_training_job_place(asked, region="us-west-2", has_network=True) == []
