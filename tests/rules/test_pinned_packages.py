"""What nodes are to install of Neuron is among what they may fetch."""

from typing import Any

import pytest

from llm_fleet.catalog.neuron import DRIVER, host_packages, neuron_release
from llm_fleet.rules.pinned_packages import check_neuron_pinned

RELEASE = neuron_release("2.28.1")
PINNED: list[dict[str, Any]] = [
    {"name": package.name, "version": package.version} for package in host_packages(RELEASE) if package.name != DRIVER
]


@pytest.mark.parametrize("suffix", ["", "-6a1f2c3d4", "_amd64"])
def test_all_but_the_driver_must_be_pinned(suffix: str) -> None:
    files = [{**file, "version": file["version"] + suffix} for file in PINNED]
    assert check_neuron_pinned("2.28.1", files) == []
    for index, file in enumerate(files):
        (problem,) = check_neuron_pinned("2.28.1", files[:index] + files[index + 1 :])
        assert problem.code.value == "LF453"
        assert file["name"] in problem.message


def test_another_version_is_another_package() -> None:
    files = [{**file, "version": file["version"] + "0"} for file in PINNED]
    (problem,) = check_neuron_pinned("2.28.1", files)
    assert all(file["name"] in problem.message for file in PINNED)


def test_nodes_that_fetch_nothing_install_nothing() -> None:
    (problem,) = check_neuron_pinned("2.28.1", None)
    assert "fetch nothing" in problem.message


def test_an_unknown_release_is_told_elsewhere() -> None:
    assert check_neuron_pinned("1.0", None) == []
