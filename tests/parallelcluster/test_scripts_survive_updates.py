"""A changed script or manifest reaches every node, and never touches what ParallelCluster cannot change."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from llm_fleet import ClusterUser, FleetNetwork, HeadNode, LoginPool, NodeScripts, ParallelCluster, Queue
from llm_fleet.lifecycle.script_folder import default_folder
from local.parallelcluster.client import Oracle
from tests.conftest import ENVIRONMENT
from tests.parallelcluster.conftest import SECURITY_GROUP, SUBNETS
from tests.parallelcluster.deployed import configuration_of
from tools.synth_environment import cdk_context

Deploy = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def deploy(tmp_path_factory: pytest.TempPathFactory) -> Deploy:
    """Make the cluster in an app of its own; return the configuration as the provider would get it."""

    def deploy(**options: Any) -> dict[str, Any]:
        app = cdk.App(context=cdk_context(), outdir=str(tmp_path_factory.mktemp("out")))
        stack = cdk.Stack(app, "Test", env=ENVIRONMENT)
        network = FleetNetwork.from_ids(
            stack, "Network", vpc_id="vpc-0123456789abcdef0", subnets=SUBNETS, security_group_id=SECURITY_GROUP
        )
        ParallelCluster(
            stack,
            "Train",
            network=network,
            cluster_name="train",
            head_node=HeadNode(instance_type="m5.2xlarge"),
            queues=[Queue.trainium("trn1", max_count=4)],
            login_pools=[LoginPool(name="login", instance_type="m5.large")],
            **options,
        )
        return configuration_of(stack)

    return deploy


@pytest.fixture(scope="module")
def deployed(deploy: Deploy) -> dict[str, Any]:
    """The cluster before any change."""
    return deploy()


@pytest.fixture
def changed_scripts(tmp_path: Path) -> Path:
    """The shipped scripts with one line more in one of them."""
    folder = tmp_path / "scripts"
    shutil.copytree(default_folder(), folder, ignore=shutil.ignore_patterns("__pycache__"))
    entry = folder / "on_node_configured.sh"
    entry.write_text(entry.read_text() + "# changed\n")
    return folder


def lasting(configuration: dict[str, Any]) -> list[dict[str, Any]]:
    """The nodes that live through updates: head node and login pool."""
    return [configuration["HeadNode"], configuration["LoginNodes"]["Pools"][0]]


def test_a_changed_script(deployed: dict[str, Any], deploy: Deploy, changed_scripts: Path, oracle: Oracle):
    assert_survives(deployed, deploy(scripts=NodeScripts(scripts=changed_scripts)), oracle)


def test_a_changed_manifest(deployed: dict[str, Any], deploy: Deploy, oracle: Oracle):
    assert_survives(deployed, deploy(users=[ClusterUser(name="ada", uid=2001)]), oracle)


def assert_survives(old: dict[str, Any], new: dict[str, Any], oracle: Oracle) -> None:
    for before, after in zip(lasting(old), lasting(new), strict=True):
        assert before["CustomActions"]["OnNodeConfigured"] == after["CustomActions"]["OnNodeConfigured"]
        assert before["CustomActions"]["OnNodeUpdated"] != after["CustomActions"]["OnNodeUpdated"]
    (was,), (queue,) = old["Scheduling"]["SlurmQueues"], new["Scheduling"]["SlurmQueues"]
    assert was["CustomActions"]["OnNodeConfigured"] != queue["CustomActions"]["OnNodeConfigured"]
    changes = oracle.update(old, new)
    assert changes
    assert {change.verdict for change in changes} == {"SUCCEEDED"}


def test_what_each_node_starts_with(deployed: dict[str, Any]):
    for node, group in zip(lasting(deployed), ("HeadNode", "LoginNodes-login"), strict=True):
        first = node["CustomActions"]["OnNodeConfigured"]
        root = first["Script"].removesuffix("/on_node_configured.sh")
        assert first["Args"] == [f"{root}/current", group]
        later = node["CustomActions"]["OnNodeUpdated"]
        prefix, digest, told = later["Args"]
        assert later["Script"] == f"{prefix}on_node_configured.sh"
        assert (prefix.startswith(f"{root}/"), len(digest), told) == (True, 64, group)
    queue = deployed["Scheduling"]["SlurmQueues"][0]["CustomActions"]
    assert queue["OnNodeConfigured"]["Args"][-1] == "trn1"
    assert "OnNodeUpdated" not in queue, "ParallelCluster replaces compute nodes instead"
