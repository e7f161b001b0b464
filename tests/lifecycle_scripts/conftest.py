"""A node for each test, and the nodes' own code within reach."""

import sys
from pathlib import Path

import pytest

from tests.lifecycle_scripts.throwaway_node import Node

SCRIPTS = str(Path(__file__).parents[2] / "lifecycle_scripts")
if SCRIPTS not in sys.path:
    sys.path.insert(0, SCRIPTS)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """A node without any file of the platform."""
    return Node(tmp_path)
