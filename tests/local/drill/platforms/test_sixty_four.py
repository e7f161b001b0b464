"""A plan with 64 workers, without nodes: the node's own code reads what the platform writes."""

import json
from pathlib import Path

import pytest

from llm_fleet_local.drill.cluster_view import ClusterView, Group, Instance
from llm_fleet_local.drill.platforms.resource_config import resource_config
from llm_fleet_local.drill.platforms.slurm_conf import DRILL_PROFILE, agent_slurm_conf
from llm_fleet_node.graph import build
from llm_fleet_node.host import Host
from llm_fleet_node.platform_files import read_resource_config
from llm_fleet_node.slurm.conf_file import read
from llm_fleet_node.steps import every_step

WORKERS = 64


@pytest.fixture
def view() -> ClusterView:
    groups = (
        Group("controller", "Controller", "ml.m5.xlarge", (), "OnCreate", "on_create.sh", "s3://b/p/"),
        Group("workers", "Compute", "ml.trn1.32xlarge", ("trn1",), "OnCreate", "on_create.sh", "s3://b/p/"),
    )
    instances = [Instance("controller-1", "controller", "i-0", "10.1.0.4", "ip-10-1-0-4")]
    for number in range(1, WORKERS + 1):
        address = f"10.1.{1 + number // 200}.{number % 200}"
        name = f"ip-{address.replace('.', '-')}"
        instances.append(Instance(f"workers-{number}", "workers", f"i-{number}", address, name))
    return ClusterView(
        "train", "arn:aws:sagemaker:us-west-2:123456789012:cluster/abc", "us-west-2", groups, tuple(instances)
    )


def test_every_node_finds_itself_and_all_other_nodes(view: ClusterView, tmp_path: Path):
    file = tmp_path / "resource_config.json"
    file.write_text(resource_config(view))
    reported = read_resource_config(file)
    assert reported is not None
    assert [(one.name, one.address) for one in reported.instances] == [
        (one.name, one.address) for one in view.instances
    ]
    assert reported.controller_addresses == ("10.1.0.4",)
    assert {one.topology[-1] for one in reported.instances if one.group == "workers"} == {"nn-leaf-0", "nn-leaf-1"}
    assert len({one.agent_address for one in view.instances}) == WORKERS + 1


def test_a_group_without_listed_instances_has_null(view: ClusterView):
    groups = json.loads(resource_config(view, listed=["controller-1"]))["InstanceGroups"]
    assert [group["Instances"] is None for group in groups] == [False, True]


def test_slurm_has_every_worker_and_its_partitions(view: ClusterView, tmp_path: Path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/slurm.conf").write_text(agent_slurm_conf(view, {"ml.trn1.32xlarge": 128}))
    conf = read(Host(tmp_path), "/etc")
    assert conf is not None
    names = [line["nodename"] for line in conf.every("NodeName")]
    assert names == [one.host_name for one in view.of_role("Compute")]
    assert {line["cpus"] for line in conf.every("NodeName")} == {"128"}
    partitions = {line["partitionname"]: line["nodes"].split(",") for line in conf.every("PartitionName")}
    assert partitions == {"dev": ["ALL"], "trn1": names}
    assert {name: conf.value(name) for name in DRILL_PROFILE} == dict(DRILL_PROFILE)


@pytest.mark.parametrize("role", ["Controller", "Login", "Compute"])
@pytest.mark.parametrize("hook", ["OnCreate", "OnInitComplete", "OnNodeConfigured"])
def test_the_steps_of_each_role_run_in_few_stages(role: str, hook: str):
    """Dependencies between steps limit the speed of a node, independent of the number of nodes."""
    waves = build(every_step(), role, hook, ()).waves()
    assert 3 <= len(waves) <= 11, waves
    assert "run_at_boot" in waves[-1], "it keeps what all the others have proven"
    assert set(waves[-1]) <= {"run_at_boot", "metrics"}, "no job needs metrics, so nothing waits for them"
