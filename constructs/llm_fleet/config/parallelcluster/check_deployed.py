"""Whether what a fleet file says was deployed last can be read."""

from collections.abc import Sequence
from dataclasses import replace

from llm_fleet.config.parallelcluster.cluster import ParallelClusterConfig
from llm_fleet.named_files.deployed_configuration import DeployedConfiguration
from llm_fleet.rules.problem import FleetError, Problem


def check_deployed(cluster: ParallelClusterConfig) -> Sequence[Problem]:
    """Return why the file under `deployed` tells nothing of the cluster; that it is not in it yet is no mistake."""
    if cluster.deployed_path is None:
        return ()
    try:
        DeployedConfiguration.if_deployed(cluster.deployed_path, cluster=cluster.cluster_name)
    except FleetError as error:
        return [replace(problem, path=("deployed",), value=cluster.deployed) for problem in error.problems]
    return ()
