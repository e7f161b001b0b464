"""Which pinned files make an environment, and which Pythons a wheel is for."""

from dataclasses import replace
from pathlib import Path

import pytest

from llm_fleet_node.failures import Failure
from llm_fleet_node.manifest_parts import Download
from llm_fleet_node.node import Node
from llm_fleet_node.training.interpreter import Interpreter, check_wheels
from llm_fleet_node.training.pinned import files_of
from tests.lifecycle_scripts.training.training_node import VENV, cached, make, with_files


@pytest.mark.parametrize("name", ["tiny_train", "Tiny.Train", "TINY-TRAIN"])
def test_package_names_are_normalized(tmp_path: Path, name: str) -> None:
    node = make(tmp_path)
    found = with_files(node, cached(node, b"x", "a.whl", name=name, version="1.0+cpu", requires=("dep_one",)))
    files = (*found.manifest.downloads.files, cached(node, b"y", "b.whl", name="dep-one", version="3"))
    assert [one.version for one in pinned_files(with_files(node, *files))] == ["3", "1.0+cpu"]


def pinned_files(node: Node) -> list[Download]:
    return files_of(node, VENV)


def test_missing_and_ambiguous_pins_are_reported(tmp_path: Path) -> None:
    node = make(tmp_path)
    with pytest.raises(Failure, match=r"LFN86 .*tiny-train 1.0 is not pinned for "):
        pinned_files(node)
    one = cached(node, b"x", "a.whl", name="tiny-train", requires=("dep",))
    with pytest.raises(Failure, match=r"LFN86 .*dep is not pinned for "):
        pinned_files(with_files(node, one))
    both = (cached(node, data, "d.whl", name="dep", version=data.decode()) for data in (b"1", b"2"))
    with pytest.raises(Failure, match=r"LFN86 .*dep is pinned .* in several versions \(1, 2\)"):
        pinned_files(with_files(node, one, *both))
    with pytest.raises(Failure, match=r"LFN86"):
        pinned_files(with_files(node, replace(one, kind="deb")))


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("a-1-py3-none-any.whl", True),
        ("a-1-py2.py3-none-any.whl", True),
        ("a-1-py2-none-any.whl", False),
        ("a-1-cp310-cp310-linux_x86_64.whl", True),
        ("a-1-1build-cp310-cp310-linux_x86_64.whl", True),
        ("a-1-cp311-cp311-linux_x86_64.whl", False),
        ("a-1-cp38-abi3-linux_x86_64.whl", True),
        ("a-1-cp311-abi3-linux_x86_64.whl", False),
        ("a-1-cp39-cp39-linux_x86_64.whl", False),
        ("odd.whl", True),
    ],
)
def test_wheels_that_match_a_python(name: str, fits: bool) -> None:
    interpreter = Interpreter("/usr/bin/python3.10", (3, 10, 12))
    if fits:
        check_wheels(interpreter, [name])
    else:
        with pytest.raises(Failure, match=r"LFN135"):
            check_wheels(interpreter, [name])
