"""What the examples make of ParallelCluster passes its own schema and its own validators."""

from pathlib import Path

import aws_cdk as cdk
import pytest

from llm_fleet.config.load import load_fleet
from llm_fleet_stacks.fleet_stacks import FleetStacks
from llm_fleet_stacks.parallelcluster_stack import ParallelClusterStack
from parallelcluster_oracle.client import Oracle
from tools.synth_environment import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("parallelcluster-*.yaml"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_parallelcluster_itself_finds_no_error(app: cdk.App, oracle: Oracle, example: Path) -> None:
    stacks = FleetStacks.make(app, load_fleet(example), account="111122223333")
    clusters = [stack for stack in stacks.clusters.values() if isinstance(stack, ParallelClusterStack)]
    assert clusters
    for stack in clusters:
        configuration = stack.resolve(stack.cluster.configuration)
        found = oracle.validate(configuration, stack.cluster.cluster_name)
        assert [finding for finding in found if finding.level == "ERROR"] == []
