"""The step slurm_conf: llm-fleet's include in the agent's file, and the whole file without an agent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from llm_fleet_node.failures import Failure
from llm_fleet_node.host import Host
from llm_fleet_node.manifest_parts import Group, Steps
from llm_fleet_node.node import Node
from llm_fleet_node.slurm import conf_file
from llm_fleet_node.step import ON_INIT_COMPLETE
from llm_fleet_node.steps import slurm_conf
from llm_fleet_node.steps.slurm_conf import STEP
from tests.lifecycle_scripts.convergence import applied, converges
from tests.lifecycle_scripts.slurm.slurm_node import (
    AGENT,
    ETC,
    IGNORED,
    LOCAL,
    bare,
    on_ami,
    with_identity,
    with_manifest,
    workers,
)
from tests.lifecycle_scripts.step_node import M5, P5, TRN1, file, said
from tests.pains.reported import reported

CONF = f"{ETC}/slurm.conf"
OURS = f"{ETC}/llm-fleet.conf"
BLOCK = "# llm-fleet: begin slurm\nInclude llm-fleet.conf\n# llm-fleet: end slurm\n"


def controller(root: Path) -> Node:
    return on_ami(root, "Controller")


def bare_controller(root: Path) -> Node:
    return bare(root, "Controller")


def ours(root: Path) -> dict[str, str]:
    lines = (root / OURS[1:]).read_text().splitlines()[1:]
    return dict(line.split("=", 1) for line in lines)


def test_the_agents_lines_are_kept_and_llm_fleets_file_is_included(tmp_path: Path) -> None:
    node = controller(tmp_path)
    applied(STEP, node)
    assert (tmp_path / CONF[1:]).read_text() == AGENT + BLOCK
    assert ours(tmp_path) == {
        "PropagateResourceLimitsExcept": "MEMLOCK,NOFILE",
        "HealthCheckProgram": "/opt/llm-fleet/slurm/health_check.sh",
        "HealthCheckInterval": "300",
        "HealthCheckNodeState": "ANY,CYCLE",
        "Prolog": "/opt/llm-fleet/slurm/prolog.sh",
        "Epilog": "/opt/llm-fleet/slurm/epilog.sh",
    }


@pytest.mark.parametrize("build", [controller, bare_controller], ids=["agent", "bare"])
def test_it_converges_after_a_kill_at_any_point(tmp_path: Path, build: object) -> None:
    assert converges(STEP, build, tmp_path, ignore=IGNORED) >= 2  # type: ignore[arg-type]


def test_lists_keep_the_values_of_the_agent(tmp_path: Path) -> None:
    node = controller(tmp_path)
    text = AGENT.replace("=enable_configless", "=idle_on_node_suspend").replace(
        "=permit_job_expansion", "=bf_interval=9"
    )
    file(tmp_path, CONF, text)
    applied(STEP, node)
    assert ours(tmp_path)["SlurmctldParameters"] == "idle_on_node_suspend,enable_configless"
    assert ours(tmp_path)["SchedulerParameters"] == "bf_interval=9,permit_job_expansion"
    assert applied(STEP, node) == []


def test_the_platforms_health_check_and_prologs_are_kept(tmp_path: Path) -> None:
    node = controller(tmp_path)
    file(tmp_path, CONF, AGENT + "HealthCheckProgram=/theirs\nProlog=/theirs/*\n")
    applied(STEP, node)
    assert set(ours(tmp_path)) == {"PropagateResourceLimitsExcept", "Prolog", "Epilog"}
    conf = conf_file.read(node.host, ETC)
    assert conf is not None
    assert conf.values("Prolog") == ["/theirs/*", "/opt/llm-fleet/slurm/prolog.sh"]


@pytest.mark.parametrize(("version", "both"), [("23.11.10", False), ("24.05.0", True), ("25.11.2", True)])
def test_before_2405_the_platforms_own_prolog_is_not_replaced(tmp_path: Path, version: str, both: bool) -> None:
    """In older versions the last line counts, and would replace the platform's.

    Source: document SchedMD/slurm ce7b61f6a6 (2024-04-18, first in 24.05): Prolog and Epilog became arrays.
    """
    node = controller(tmp_path)
    file(tmp_path, "/fake/version", version)
    file(tmp_path, CONF, AGENT + "Prolog=/theirs/*\n")
    applied(STEP, node)
    assert ("Prolog" in ours(tmp_path)) is both
    assert "Epilog" in ours(tmp_path), "the platform has none"
    assert applied(STEP, node) == []


def test_nodes_without_steps_get_no_programs(tmp_path: Path) -> None:
    node = controller(tmp_path)
    groups = (*node.manifest.groups, Group("other", "Compute", None, "other", (M5,)))
    applied(STEP, with_manifest(node, groups=groups))
    assert set(ours(tmp_path)) == {"PropagateResourceLimitsExcept"}


def test_without_the_health_check_slurm_conf_does_not_name_it(tmp_path: Path) -> None:
    applied(STEP, with_manifest(controller(tmp_path), steps=Steps(("health_check",), ())))
    assert set(ours(tmp_path)) == {"PropagateResourceLimitsExcept"}


def test_accounting_is_included_if_the_agent_does_not_include_it(tmp_path: Path) -> None:
    node = with_manifest(controller(tmp_path), accounting=LOCAL)
    applied(STEP, node)
    assert "Include accounting.conf" not in (tmp_path / CONF[1:]).read_text()
    file(tmp_path, CONF, AGENT.replace("include accounting.conf\n", ""))
    applied(STEP, node)
    assert "Include llm-fleet.conf\nInclude accounting.conf\n" in (tmp_path / CONF[1:]).read_text()
    assert applied(STEP, node) == []


def test_accounting_included_by_its_path_is_not_included_twice(tmp_path: Path) -> None:
    """slurmctld would log three times at each start that a setting is specified more than once."""
    node = on_ami(tmp_path, "Controller", accounting=LOCAL)
    file(tmp_path, CONF, AGENT.replace("include accounting.conf", f"include {ETC}/accounting.conf"))
    applied(STEP, node)
    text = (tmp_path / CONF[1:]).read_text()
    assert text.lower().count("accounting.conf") == 1


def test_accounting_that_nothing_includes_is_reported(tmp_path: Path) -> None:
    node = with_manifest(controller(tmp_path), accounting=LOCAL)
    file(tmp_path, CONF, AGENT.replace("include accounting.conf\n", ""))
    applied(STEP, node)
    file(tmp_path, CONF, (tmp_path / CONF[1:]).read_text().replace("Include accounting.conf\n", ""))
    with pytest.raises(Failure, match=r"LFN59  .*slurm\.conf does not include accounting\.conf"):
        STEP.verify(node)


@pytest.mark.parametrize("theirs", ["PropagateResourceLimits=NONE", "PropagateResourceLimitsExcept=ALL"])
def test_limits_that_the_platform_sets_are_kept(tmp_path: Path, theirs: str) -> None:
    node = controller(tmp_path)
    file(tmp_path, CONF, f"{AGENT}{theirs}\n")
    applied(STEP, node)
    assert "PropagateResourceLimitsExcept" not in ours(tmp_path)


def test_lines_are_added_again_after_the_agent_rewrites_the_file(tmp_path: Path) -> None:
    node = controller(tmp_path)
    applied(STEP, node)
    file(tmp_path, CONF, AGENT + "NodeName=ip-10-1-0-13 CPUs=4\n")
    with pytest.raises(Failure, match=r"LFN59.*lack PropagateResourceLimitsExcept=.*, HealthCheckProgram"):
        STEP.verify(node)
    assert applied(STEP, node) == [f"wrote {CONF}"]


@pytest.mark.parametrize("text", [None, "", "ClusterName=train\n"], ids=["none", "empty", "half"])
def test_a_slurm_conf_that_the_agent_does_not_write_is_reported(
    tmp_path: Path, text: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm_conf, "_SECONDS", 0.1)
    node = controller(tmp_path)
    (tmp_path / CONF[1:]).unlink()
    if text is not None:
        file(tmp_path, CONF, text)
    with pytest.raises(Failure, match=r"LFN58"):
        STEP.apply(node)


@pytest.mark.parametrize("line", ["TaskPlugin=task/cgroup,task/affinity\n", "taskplugin=task/affinity\n"])
def test_settings_that_prevent_auto_resume_are_reported(tmp_path: Path, line: str) -> None:
    node = controller(tmp_path)
    file(tmp_path, CONF, AGENT + line)
    STEP.apply(node)
    with pytest.raises(Failure, match=r"LFN60.*TaskPlugin=task/") as failure:
        STEP.verify(node)
    reported(19, failure.value, "auto-resume")
    STEP.verify(replace(node, hook=ON_INIT_COMPLETE))
    assert "auto-resume does not work: TaskPlugin=task/" in said(node)


def test_a_later_line_that_overrides_a_setting_is_reported(tmp_path: Path) -> None:
    node = controller(tmp_path)
    applied(STEP, node)
    file(tmp_path, CONF, AGENT + BLOCK + "SlurmctldParameters=idle_on_node_suspend\n")
    with pytest.raises(Failure, match=r"LFN59.*enable_configless"):
        STEP.verify(node)
    file(tmp_path, CONF, AGENT + BLOCK + "SchedulerParameters=bf_interval=3\n")
    with pytest.raises(Failure, match=r"LFN60.*permit_job_expansion"):
        STEP.verify(node)


def test_a_worker_has_no_configuration_of_its_own(tmp_path: Path) -> None:
    node = on_ami(tmp_path)
    file(tmp_path, CONF, "old")
    with pytest.raises(Failure, match=r"LFN59"):
        STEP.verify(node)
    assert applied(STEP, node) == [f"removed {CONF}"]
    assert applied(STEP, node) == []


def test_after_the_ami_nothing_is_changed(tmp_path: Path) -> None:
    node = replace(controller(tmp_path), hook=ON_INIT_COMPLETE)
    assert applied(STEP, node) == []
    assert applied(STEP, replace(on_ami(tmp_path / "worker"), hook=ON_INIT_COMPLETE)) == []
    (tmp_path / CONF[1:]).unlink()
    with pytest.raises(Failure, match=r"LFN58"):
        STEP.verify(node)


def test_a_controller_without_platform_gets_a_complete_slurm_conf(tmp_path: Path) -> None:
    groups = (
        Group("head", "Controller", "OnCreate", None, (M5,)),
        Group("entry", "Login", "OnCreate", None, (M5,)),
        Group("trn", "Compute", "OnCreate", "train", (TRN1,)),
        Group("gpu", "Compute", "OnCreate", None, (P5,)),
        Group("more", "Compute", "OnCreate", "train", (TRN1,)),
    )
    node = with_manifest(bare_controller(tmp_path), groups=groups)
    applied(STEP, node)
    conf = conf_file.read(node.host, "/etc/slurm")
    assert conf is not None
    assert conf.value("SlurmctldHost") == "ip-10-1-0-5(10.1.0.5)"
    assert "enable_configless" in conf.items("SlurmctldParameters")
    assert conf.value("GresTypes") == "gpu,neuron"
    partitions = {line["partitionname"]: line for line in conf.every("PartitionName")}
    assert {name: line["nodes"] for name, line in partitions.items()} == {"train": "trn,more", "gpu": "gpu"}
    assert [name for name, line in partitions.items() if line.get("default") == "YES"] == ["train"]
    assert {line["nodeset"] for line in conf.every("NodeSet")} == {"trn", "gpu", "more"}, (
        "the login node is in no partition"
    )
    assert applied(STEP, node) == []


def test_a_controller_without_platform_uses_its_manifest(tmp_path: Path) -> None:
    node = bare_controller(tmp_path)
    applied(STEP, node)
    assert applied(STEP, with_manifest(node, cluster="other")) == ["wrote /etc/slurm/slurm.conf"]


LAYERS = (("nn-a", "nn-b", "nn-c"), ("nn-a", "nn-b", "nn-c"), ("nn-a", "nn-b", "nn-d"))


def test_network_layers_are_written_as_a_tree(tmp_path: Path) -> None:
    node = with_identity(controller(tmp_path), neighbors=workers(*LAYERS))
    applied(STEP, node)
    text = (tmp_path / "opt/slurm/etc/topology.conf").read_text()
    assert set(text.splitlines()[1:]) == {
        "SwitchName=nn-c Nodes=ip-10-1-0-20,ip-10-1-0-21",
        "SwitchName=nn-d Nodes=ip-10-1-0-22",
        "SwitchName=nn-b Switches=nn-c,nn-d",
        "SwitchName=nn-a Switches=nn-b",
    }
    assert ours(tmp_path)["TopologyPlugin"] == "topology/tree"
    assert applied(STEP, node) == []


def test_slurm_25_gets_a_topology_yaml(tmp_path: Path) -> None:
    node = with_identity(controller(tmp_path), neighbors=workers(*LAYERS))
    file(tmp_path, "/fake/version", "25.11.2")
    applied(STEP, node)
    text = (tmp_path / "opt/slurm/etc/topology.yaml").read_text()
    assert "      - switch: nn-c\n        nodes: ip-10-1-0-20,ip-10-1-0-21\n" in text
    assert "      - switch: nn-b\n        children: nn-c,nn-d\n" in text
    assert "TopologyPlugin" not in ours(tmp_path)
    assert not (tmp_path / "opt/slurm/etc/topology.conf").exists()


@pytest.mark.parametrize("layers", [(("a", "b"), ()), (("a", "b"), ("a",)), ()], ids=["one without", "unlike", "none"])
def test_a_tree_without_all_nodes_is_not_written(tmp_path: Path, layers: tuple[tuple[str, ...], ...]) -> None:
    node = with_identity(controller(tmp_path), neighbors=workers(*layers))
    applied(STEP, node)
    assert not (tmp_path / "opt/slurm/etc/topology.conf").exists()
    assert "TopologyPlugin" not in ours(tmp_path)


def test_trees_get_a_common_root(tmp_path: Path) -> None:
    node = with_identity(controller(tmp_path), neighbors=workers(("a", "b"), ("c", "d")))
    applied(STEP, node)
    assert "SwitchName=llm-fleet-root Switches=a,c\n" in (tmp_path / "opt/slurm/etc/topology.conf").read_text()


@pytest.mark.parametrize("name", ["topology.conf", "topology.yaml"])
@pytest.mark.parametrize("text", ["", "\n# nothing\n---\n"], ids=["empty", "comments"])
def test_an_empty_file_is_reported_and_repaired(tmp_path: Path, name: str, text: str) -> None:
    node = controller(tmp_path)
    file(tmp_path, "/fake/version", "25.11.2" if name.endswith("yaml") else "24.11.0")
    file(tmp_path, f"{ETC}/{name}", text)
    with pytest.raises(Failure, match=f"LFN61.*{name} is empty") as failure:
        STEP.verify(node)
    reported(16, failure.value, "is empty")
    applied(STEP, node)
    assert applied(STEP, node) == []
    path = tmp_path / f"opt/slurm/etc/{name}"
    assert path.read_text().endswith("flat: true\n") if name.endswith("yaml") else not path.exists()


def test_without_layers_a_tree_is_one_switch_for_all_nodes(tmp_path: Path) -> None:
    node = replace(controller(tmp_path), hook=ON_INIT_COMPLETE)
    text = AGENT + "NodeName=ip-10-2-0-[1-9] CPUs=4\nTopologyPlugin=topology/tree\n"
    file(tmp_path, CONF, text)
    file(tmp_path, f"{ETC}/topology.conf", "")
    changes = applied(STEP, node)
    assert changes == [f"wrote {ETC}/topology.conf"]
    lines = (tmp_path / "opt/slurm/etc/topology.conf").read_text().splitlines()
    assert lines[1:] == ["SwitchName=all Nodes=ip-10-1-0-12,ip-10-2-0-[1-9]"]
    assert (tmp_path / CONF[1:]).read_text() == text, "the agent's own file is not edited after the AMI"


def test_a_block_topology_without_its_file_is_removed(tmp_path: Path) -> None:
    node = controller(tmp_path)
    file(tmp_path, CONF, AGENT + "TopologyPlugin=topology/block\n")
    with pytest.raises(Failure, match=r"LFN61.*there is no topology file"):
        STEP.verify(node)
    applied(STEP, node)
    assert ours(tmp_path)["TopologyPlugin"] == "topology/default"


def test_the_platforms_topology_is_not_changed(tmp_path: Path) -> None:
    node = with_identity(controller(tmp_path), neighbors=workers(*LAYERS))
    file(tmp_path, f"{ETC}/topology.conf", "SwitchName=theirs Nodes=ip-10-1-0-12\n")
    applied(STEP, node)
    assert (tmp_path / "opt/slurm/etc/topology.conf").read_text() == "SwitchName=theirs Nodes=ip-10-1-0-12\n"


def test_keys_ignore_case_and_the_last_value_counts(tmp_path: Path) -> None:
    file(
        tmp_path,
        "/etc/slurm/slurm.conf",
        'clustername=a # of old\n#ClusterName=c\nClusterName = b\nX="with blanks" Y=2\n',
    )
    conf = conf_file.read(Host(tmp_path), "/etc/slurm")
    assert conf is not None
    assert conf.value("CLUSTERNAME") == "b"
    assert (conf.value("x"), conf.value("y"), conf.value("z")) == ("with blanks", "2", None)


def test_includes_are_read_in_order(tmp_path: Path) -> None:
    file(tmp_path, "/etc/slurm/slurm.conf", "A=1\ninclude more.conf\nINCLUDE /abs.conf\nInclude gone.conf\nB=1\n")
    file(tmp_path, "/etc/slurm/more.conf", "A=2\nB=2\nInclude more.conf\n")
    file(tmp_path, "/abs.conf", "C=3\n")
    conf = conf_file.read(Host(tmp_path), "/etc/slurm")
    assert conf is not None
    assert (conf.value("A"), conf.value("B"), conf.value("C")) == ("2", "1", "3")
    assert set(conf.includes) == {"/etc/slurm/more.conf", "/abs.conf", "/etc/slurm/gone.conf"}
    assert [conf.does_include(name) for name in ("more.conf", "abs.conf")] == [True, False]


def test_continued_lines_are_joined(tmp_path: Path) -> None:
    file(tmp_path, "/etc/slurm/slurm.conf", "NodeName=a \\\n  CPUs=4\nNodeName=b CPUs=2\n")
    conf = conf_file.read(Host(tmp_path), "/etc/slurm")
    assert conf is not None
    assert conf.every("nodename") == [{"nodename": "a", "cpus": "4"}, {"nodename": "b", "cpus": "2"}]


def test_settings_without_those_of_llm_fleet(tmp_path: Path) -> None:
    text = "A=1\n# llm-fleet: begin slurm\nInclude llm-fleet.conf\n# llm-fleet: end slurm\n"
    file(tmp_path, "/etc/slurm/slurm.conf", text)
    file(tmp_path, "/etc/slurm/llm-fleet.conf", "A=2\n")
    whole, theirs = (conf_file.read(Host(tmp_path), "/etc/slurm", ours=ours) for ours in (True, False))
    assert whole is not None
    assert theirs is not None
    assert (whole.value("A"), theirs.value("A"), theirs.includes) == ("2", "1", ())


def test_a_missing_slurm_conf(tmp_path: Path) -> None:
    assert conf_file.read(Host(tmp_path), "/etc/slurm") is None
