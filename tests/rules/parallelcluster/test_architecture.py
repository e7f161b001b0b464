"""All nodes have the head node's architecture."""

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.architecture import check_architecture
from tests.rules.parallelcluster.shapes import with_resource


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("m7g.2xlarge", "take a head node of arm64, e.g. 'm7g.2xlarge', or an instance type of x86_64 here"),
        ("mac2.metal", "take an instance type of x86_64 here"),
    ],
)
def test_a_queue_of_another_architecture(name: str, remedy: str):
    (problem,) = check_architecture(with_resource(instance_types=(name,)))
    assert (problem.code, problem.remedy) == (Code.PC_ARCHITECTURE, remedy)
