"""Files whose paths are in a fleet file or a construct."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from llm_fleet.catalog.model_server import known_model
from llm_fleet.named_files.deployed_configuration import DeployedConfiguration
from llm_fleet.named_files.named_file import lock_problems, read_regular_file, read_shape
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError


def test_the_shape_is_read_from_a_config_file(tmp_path: Path):
    known = known_model("Llama-2-7b")
    assert known is not None
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"architectures": ["LlamaForCausalLM"], **known.config}))
    shape, problems = read_shape(path)
    assert problems == []
    assert shape is not None
    assert shape.parameters == 6_738_415_616


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "No such file"),
        ("{", "Expecting property name"),
        ("[]", "it holds no JSON object"),
        (b"\xff\xfe", "codec can't decode"),
        ('"' + "x" * 1024 * 1024 + '"', "more than 1,048,576 bytes"),
        ("[" * 100_000, "recursion"),
    ],
)
def test_an_unreadable_file_is_reported(tmp_path: Path, text: str | bytes | None, reason: str):
    path = tmp_path / "config.json"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    shape, (problem,) = read_shape(path)
    assert shape is None
    assert (problem.code, problem.value) == (Code.MODEL_CONFIG, str(path))
    assert reason in problem.message


def test_a_folder_is_rejected_as_a_file(tmp_path: Path):
    _, (problem,) = read_shape(tmp_path)
    assert "Is a directory" in problem.message


def _config(path: Path) -> str:
    return str(read_shape(path)[1])


def _lock(path: Path) -> str:
    return str(lock_problems(path))


def _deployed(path: Path) -> str:
    with pytest.raises(FleetError) as error:
        DeployedConfiguration.from_file(path)
    return str(error.value)


@pytest.mark.parametrize("read", [_config, _lock, _deployed])
def test_devices_and_pipes_are_not_opened(tmp_path: Path, read: Callable[[Path], str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/zero"), tmp_path / "pipe"):
        assert "it is no regular file" in read(path)


def test_at_most_the_given_number_of_bytes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("12345")
    assert read_regular_file(path, most=5) == "12345"
    with pytest.raises(ValueError, match="more than 4 bytes"):
        read_regular_file(path, most=4)
    with pytest.raises(IsADirectoryError):
        read_regular_file(tmp_path)
