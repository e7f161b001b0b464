"""A node for each test, and an import path for the node scripts."""

import sys
from pathlib import Path

import pytest

from tests.lifecycle_scripts.programs import INSTEAD_OF_SUBPROCESS
from tests.lifecycle_scripts.throwaway_node import OWN_ADDRESSES, Node, resource_config

SCRIPTS = str(Path(__file__).parents[2] / "lifecycle_scripts")
if SCRIPTS not in sys.path:
    sys.path.insert(0, SCRIPTS)


@pytest.fixture(scope="session")
def first_of_each_file(request: pytest.FixtureRequest) -> dict[Path, str]:
    """The first test of each file by path, in any test process."""
    return {item.path: item.nodeid for item in reversed(request.session.items)}


@pytest.fixture(autouse=True)
def programs_without_processes(
    request: pytest.FixtureRequest, first_of_each_file: dict[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run the programs of the node in this process, except in the first test of each file."""
    if request.node.nodeid != first_of_each_file[request.node.path]:
        monkeypatch.setattr("llm_fleet_node.host.subprocess", INSTEAD_OF_SUBPROCESS)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """A node without any file of the platform."""
    return Node(tmp_path)


@pytest.fixture
def worker(node: Node) -> Node:
    """A worker with an identity."""
    node.has("resource_config.json", resource_config({"trn": [OWN_ADDRESSES[0]]}))
    return node


@pytest.fixture
def aws(tmp_path: Path) -> Path:
    """The folder where the stand-in of the AWS CLI records requests."""
    folder = tmp_path / "aws"
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin" / "aws"
    program.write_text(f'#!/bin/bash\nexec {sys.executable} -IS {Path(__file__).parent / "fakes/aws.py"} "$@"\n')
    program.chmod(0o755)
    return folder
