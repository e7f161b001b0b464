"""The settings of jobs on a node: every value of the manifest, with any characters, read by bash."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from llm_fleet_node.failures import Failure
from llm_fleet_node.manifest_parts import Environment, Fabric, Group, InstanceType, Variable
from llm_fleet_node.node import Node
from llm_fleet_node.steps.training_settings import STEP
from llm_fleet_node.training.settings_files import FABRIC_SH, TRAINING_SH, fabric_sh
from tests.lifecycle_scripts.convergence import again, converges
from tests.lifecycle_scripts.step_node import file
from tests.lifecycle_scripts.training.training_node import (
    CONTROLLER,
    FABRIC,
    FOLDER,
    FSX,
    LOGIN,
    TRAINING,
    VENV,
    make,
    with_environment,
)

NASTY = "a'b\"c$HOME`id`\\}} {$(id) *"


def sourced(node: Node, **environment: str) -> dict[str, str]:
    """The variables in bash after sourcing the node's file."""
    path = node.host.path(TRAINING_SH)
    text = path.read_text().replace(f". {FABRIC_SH}", f". {node.host.path(FABRIC_SH)}")
    reported = subprocess.run(
        ["bash", "-euc", f"{text}\nenv -0; ulimit -S -n"],
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    return {"files": reported[-1].strip(), **dict(line.split("=", 1) for line in reported[:-1])}


def test_settings_contain_node_programs_and_python(tmp_path: Path) -> None:
    node = make(tmp_path)
    STEP.apply(node)
    STEP.verify(node)
    reported = sourced(node)
    assert reported["LLM_FLEET_PLATFORM"] == "hyperpod"
    assert (reported["LLM_FLEET_FLEET"], reported["LLM_FLEET_CLUSTER"], reported["LLM_FLEET_REGION"]) == (
        *("demo", "train"),
        "us-west-2",
    )
    assert reported["LLM_FLEET_TRAINING"] == FOLDER
    assert reported["LLM_FLEET_JOBS"] == reported["LLM_FLEET_PROGRAMS"] + "/jobs"
    assert reported["LLM_FLEET_PROGRAMS"].startswith(f"{FOLDER}/programs/")
    assert reported["LLM_FLEET_ENVIRONMENT"] == f"{FOLDER}/environments/cpu-1"
    assert reported["LLM_FLEET_ENVIRONMENT_KIND"] == "venv"
    assert reported["LLM_FLEET_PYTHON"] == f"{FOLDER}/environments/cpu-1/bin/python"
    assert (reported["LLM_FLEET_ACCELERATOR"], reported["LLM_FLEET_PROCESSES"]) == ("neuron", "32")
    assert reported["LLM_FLEET_COMPILE_CACHE"] == f"{FOLDER}/compile-cache"
    assert reported["LLM_FLEET_HUB_TOKEN_SECRET"] == ""
    assert (reported["FI_PROVIDER"], reported["NEURON_RT_NUM_CORES"]) == ("efa", "32")


def test_a_jobs_value_takes_precedence_also_if_empty(tmp_path: Path) -> None:
    node = make(tmp_path)
    STEP.apply(node)
    assert sourced(node, FI_PROVIDER="tcp")["FI_PROVIDER"] == "tcp"
    assert sourced(node, FI_PROVIDER="")["FI_PROVIDER"] == ""
    assert sourced(node, LLM_FLEET_REGION="elsewhere")["LLM_FLEET_REGION"] == "us-west-2", (
        "values that the node determines"
    )


@pytest.mark.parametrize("value", [NASTY, "", "two words", "${X", "a}b", "\\", "line\nother"])
def test_values_are_quoted_for_the_shell(tmp_path: Path, value: str) -> None:
    fabric = Fabric("odd", None, 2, (Variable("ODD", value),))
    training = replace(TRAINING, fabrics=(fabric,), hub_token_secret_arn=value)
    node = make(tmp_path, training=training)
    STEP.apply(node)
    reported = sourced(node)
    assert reported["ODD"] == value
    assert reported["LLM_FLEET_HUB_TOKEN_SECRET"] == value


def test_a_job_gets_the_limits_of_slurmd(tmp_path: Path) -> None:
    node = make(tmp_path)
    STEP.apply(node)
    text = (node.host.read(TRAINING_SH) or "").replace(FABRIC_SH, str(node.host.path(FABRIC_SH)))
    reported = subprocess.run(
        [
            "bash",
            "-c",
            f"ulimit -S -n 64; ulimit -H -n 512; ulimit -S -l 8; ulimit -H -l 32\n{text}\nulimit -n; ulimit -l",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert reported.stdout.split() == ["512", "32"]


def test_nodes_without_jobs_have_only_paths(tmp_path: Path) -> None:
    for group in (LOGIN, CONTROLLER):
        node = make(tmp_path / group.name, group=group)
        STEP.apply(node)
        STEP.verify(node)
        reported = sourced(node)
        assert reported["LLM_FLEET_JOBS"].startswith(FOLDER)
        assert (reported["LLM_FLEET_ENVIRONMENT"], reported["LLM_FLEET_ENVIRONMENT_KIND"]) == ("", "none")
        assert (reported["LLM_FLEET_PYTHON"], reported["LLM_FLEET_PROCESSES"]) == ("python3", "1")
        assert reported["LLM_FLEET_ACCELERATOR"] == "none"
        assert "FI_PROVIDER" not in reported


def test_a_container_environment_is_its_image_with_its_own_python(tmp_path: Path) -> None:
    image = Environment("smp-1", "container", ("workers",), None, (), "docker://registry#smp:1")
    node = with_environment(make(tmp_path), image, VENV)
    STEP.apply(node)
    reported = sourced(node)
    assert reported["LLM_FLEET_ENVIRONMENT"] == f"{FOLDER}/environments/smp-1.sqsh"
    assert (reported["LLM_FLEET_ENVIRONMENT_KIND"], reported["LLM_FLEET_PYTHON"]) == ("container", "python3")


def test_settings_contain_the_export_environment(tmp_path: Path) -> None:
    export = Environment("tgi-1", "container", None, None, (), "docker://registry#tgi:1", "export")
    node = with_environment(make(tmp_path), export, VENV)
    STEP.apply(node)
    reported = sourced(node)
    assert reported["LLM_FLEET_ENVIRONMENT"] == f"{FOLDER}/environments/cpu-1"
    assert reported["LLM_FLEET_EXPORT_ENVIRONMENT"] == f"{FOLDER}/environments/tgi-1.sqsh"
    assert (reported["LLM_FLEET_EXPORT_ENVIRONMENT_KIND"], reported["LLM_FLEET_EXPORT_PYTHON"]) == (
        "container",
        "python3",
    )
    alone = with_environment(make(tmp_path / "alone"), export)
    STEP.apply(alone)
    assert sourced(alone)["LLM_FLEET_ENVIRONMENT_KIND"] == "none"
    without = make(tmp_path / "without")
    STEP.apply(without)
    reported = sourced(without)
    assert (reported["LLM_FLEET_EXPORT_ENVIRONMENT"], reported["LLM_FLEET_EXPORT_ENVIRONMENT_KIND"]) == ("", "none")


def test_a_group_of_mixed_types_has_the_accelerator_of_one(tmp_path: Path) -> None:
    mixed = Group("workers", "Compute", "OnInitComplete", "p", (InstanceType("ml.p5.48xlarge", "gpu", 8, 32),) * 2)
    node = make(tmp_path, group=mixed)
    node = replace(node, identity=replace(node.identity, instance_type=None))
    STEP.apply(node)
    assert sourced(node)["LLM_FLEET_ACCELERATOR"] == "gpu"


def test_without_a_fabric_the_file_sets_nothing() -> None:
    assert all(line.startswith("#") for line in fabric_sh(None).splitlines())
    assert "export FI_PROVIDER" in fabric_sh(FABRIC)


def test_changed_files_are_reported_and_written_again(tmp_path: Path) -> None:
    node = make(tmp_path)
    STEP.apply(node)
    file(tmp_path, FABRIC_SH, "export FI_PROVIDER=tcp\n")
    with pytest.raises(Failure, match=f"LFN141  {FABRIC_SH}"):
        STEP.verify(node)
    once = again(node)
    STEP.apply(once)
    assert once.host.changes == [f"wrote {FABRIC_SH}"]


def test_shellcheck_accepts_the_scripts(tmp_path: Path) -> None:
    node = make(tmp_path)
    STEP.apply(node)
    for path in (TRAINING_SH, FABRIC_SH):
        subprocess.run(["shellcheck", "--shell=bash", str(node.host.path(path))], check=True, env=_path())


def test_it_is_skipped_without_training_or_its_storage(tmp_path: Path) -> None:
    assert STEP.skip(make(tmp_path)) is None
    assert STEP.skip(make(tmp_path, training=None)) == "the fleet has no training runtime"
    others = replace(FSX, groups=("workers",))
    assert STEP.skip(make(tmp_path, mounts=(others,))) is None
    assert STEP.skip(make(tmp_path, group=LOGIN, mounts=(others,))) == (
        "group login does not mount /fsx, where /fsx/llm-fleet is"
    )


def test_it_converges_after_a_kill_at_any_point(tmp_path: Path) -> None:
    assert converges(STEP, make, tmp_path) == 2


def _path() -> dict[str, str]:
    import os
    import sys

    return {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
