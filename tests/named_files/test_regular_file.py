"""What a path leads to is read only where reading ends."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from llm_fleet.named_files.deployed_configuration import DeployedConfiguration
from llm_fleet.named_files.hugging_face_config import read_shape
from llm_fleet.named_files.lock_file import lock_problems
from llm_fleet.named_files.regular_file import read_regular_file
from llm_fleet.rules.problem import FleetError


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


def test_no_more_is_read_than_is_told(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("12345")
    assert read_regular_file(path, most=5) == "12345"
    with pytest.raises(ValueError, match="more than 4 bytes"):
        read_regular_file(path, most=4)
    with pytest.raises(IsADirectoryError):
        read_regular_file(tmp_path)
