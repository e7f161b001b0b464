"""What cannot be trained: refused by the construct's values and by the fleet file, with the same code and words."""

from pathlib import Path
from typing import Any

import pytest

from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.sagemaker.training_job import check_training_job_place
from llm_fleet.spec.training_job import Spot, WarmPool
from llm_fleet.spec.training_job_code import SourceBundle, TrainingImage
from llm_fleet.spec.training_job_data import Channel, Checkpoints, InputMode, JobMetric
from tests.fleet_file import good_training_job as in_file
from tests.sagemaker import training_jobs as in_python
from tests.sagemaker.bad_training_jobs import BAD, LONG


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


def test_all_is_told_at_once(directory: Path):
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


def test_only_a_channel_in_s3_is_streamed(directory: Path):
    lustre = Channel(
        file_system_id="fs-0123456789abcdef0",
        directory="/fsx/a",
        input_mode=InputMode.FAST_FILE,
        sharded=True,
    )
    found = in_python.problems(directory, {"channels": {"a": lustre}})
    assert {problem.where for problem in found} == {"channels.a.input_mode", "channels.a.sharded"}


def test_a_folder_that_is_missing_or_empty_is_a_problem(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / ".hidden").write_text("")
    for name, message in (("nothing", "there is no such folder"), ("empty", "there is nothing in this folder")):
        source = SourceBundle(folder=tmp_path / name, entry_point="train.py")
        (problem,) = in_python.problems(tmp_path, {"source": source})
        assert (problem.where, problem.message) == ("source.folder", message)


def test_an_alias_of_a_key_is_refused_in_python_as_in_the_file(directory: Path):
    """IAM knows no alias: a role could not be allowed to use the key."""
    (of_file,) = in_file.problems("checkpoints: true", "checkpoints: {key: alias/mine}", directory=directory)
    with pytest.raises(FleetError) as raised:
        Checkpoints(key_arn="alias/mine")
    (of_python,) = raised.value.problems
    assert of_file.code == of_python.code == "LF116"
    assert (of_file.message, of_file.remedy) == (of_python.message, of_python.remedy)


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
    channels = {"a": Channel(uri="s3://abc/d"), "b": Channel(file_system_id="fs-0123456789abcdef0", directory="/fsx")}
    asked = in_python.spec(directory, channels=channels)
    (problem,) = check_training_job_place(asked, region="us-west-2", has_network=False)
    assert (problem.where, problem.code) == ("channels.b", "LF903")
    assert check_training_job_place(asked, region="us-west-2", has_network=True) == []
