"""Overrides are looked at wherever there are any."""

from typing import Any

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.cluster_shape import ClusterShape
from llm_fleet.rules.problem import PathPart
from tests.rules.parallelcluster.findings import only
from tests.rules.parallelcluster.shapes import Cluster, with_head, with_pool, with_queue, with_resource, with_slurm

MISSPELT: dict[str, Any] = {"Mispelt": 1}


@pytest.mark.parametrize(
    ("cluster", "path"),
    [
        (Cluster(overrides=MISSPELT), ()),
        (with_head(overrides=MISSPELT), ("head_node",)),
        (with_slurm(overrides=MISSPELT), ("slurm",)),
        (with_queue(overrides=MISSPELT), ("queues", "work")),
        (with_resource(overrides=MISSPELT), ("queues", "work", "compute_resources", "nodes")),
        (with_pool(overrides=MISSPELT), ("login_pools", "users")),
    ],
    ids=["cluster", "head node", "slurm", "queue", "compute resource", "login pool"],
)
def test_a_misspelt_key_is_told(cluster: ClusterShape, path: tuple[PathPart, ...]):
    assert only(cluster, Code.PC_KEY_UNKNOWN, *path, "overrides", "Mispelt").value == "Mispelt"
