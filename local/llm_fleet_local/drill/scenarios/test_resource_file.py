"""The platform's list of instances is late, old, incomplete or from another cluster: the node waits, or fails."""

import json
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from llm_fleet_local.drill.cluster import DrillCluster
from llm_fleet_local.drill.cluster_view import Instance
from llm_fleet_local.drill.platforms.resource_config import PATH, resource_config

_IMPATIENT = {"LLM_FLEET_PLATFORM_DEADLINE": "1"}


@pytest.fixture
def worker(cluster: DrillCluster) -> Instance:
    return cluster.workers[0]


def test_it_lists_no_instances_at_first(cluster: DrillCluster, worker: Instance):
    with _file(cluster, worker, resource_config(cluster.view, listed=())):
        starts = cluster.start_scripts([worker.name])
        starts.wait_for_reports(seconds=1.5)
        assert not starts.codes, "it did not wait for the list"
        cluster.platform.update_resource_config(cluster.node(worker.name))
        assert starts.wait(seconds=60) == {worker.name: 0}


def test_it_is_cut_off_at_first(cluster: DrillCluster, worker: Instance):
    whole = resource_config(cluster.view)
    with _file(cluster, worker, whole[: len(whole) // 2]):
        starts = cluster.start_scripts([worker.name])
        starts.wait_for_reports(seconds=1.5)
        assert not starts.codes, "it did not wait for the rest"
        cluster.platform.update_resource_config(cluster.node(worker.name))
        assert starts.wait(seconds=60) == {worker.name: 0}


def test_it_names_no_controller_at_first(cluster: DrillCluster, worker: Instance):
    without = [one.name for one in cluster.view.instances if one.name != cluster.view.controller.name]
    with _file(cluster, worker, resource_config(cluster.view, listed=without, slurm_config=False)):
        starts = cluster.start_scripts([worker.name])
        starts.wait_for_reports(seconds=3)
        assert not starts.codes, "it did not wait for the controller's address"
        cluster.platform.update_resource_config(cluster.node(worker.name))
        assert starts.wait(seconds=60) == {worker.name: 0}


def test_it_has_the_controller_among_the_instances_alone(cluster: DrillCluster, worker: Instance):
    with _file(cluster, worker, resource_config(cluster.view, slurm_config=False)):
        assert cluster.run_scripts([worker.name], env=_IMPATIENT) == {worker.name: 0}


def test_it_stays_cut_off(cluster: DrillCluster, worker: Instance):
    with _file(cluster, worker, resource_config(cluster.view)[:200]):
        assert _code(cluster, worker) == "LFN10"


def test_it_is_old_and_does_not_list_this_node(cluster: DrillCluster, worker: Instance):
    others = [one.name for one in cluster.view.instances if one.name != worker.name]
    with _file(cluster, worker, resource_config(cluster.view, listed=others)):
        assert _code(cluster, worker) == "LFN14"


def test_it_is_another_clusters(cluster: DrillCluster, worker: Instance):
    config = json.loads(resource_config(cluster.view))
    config["ClusterConfig"]["ClusterName"] = "other"
    with _file(cluster, worker, json.dumps(config)):
        assert _code(cluster, worker) == "LFN11"


def test_it_gives_this_node_to_two_groups(cluster: DrillCluster, worker: Instance):
    config = json.loads(resource_config(cluster.view))
    workers, login = (next(g for g in config["InstanceGroups"] if g["Name"] == name) for name in ("workers", "login"))
    login["Instances"].append(workers["Instances"][0])
    with _file(cluster, worker, json.dumps(config)):
        assert _code(cluster, worker) == "LFN13"


def _code(cluster: DrillCluster, worker: Instance) -> str:
    """Run the node's script, which must fail; return its code."""
    assert cluster.run_scripts([worker.name], check=False, env=_IMPATIENT)[worker.name] == 1
    return (cluster.report(worker.name) or {})["code"]


@contextmanager
def _file(cluster: DrillCluster, worker: Instance, text: str) -> Generator[None]:
    """Write `text` to the node's file, and restore it at the end."""
    node = cluster.node(worker.name)
    node.write(PATH, text)
    try:
        yield
    finally:
        cluster.platform.update_resource_config(node)
