"""Rules of custom steps and pinned packages."""

from collections.abc import Sequence
from typing import Any

import pytest

from llm_fleet.catalog.neuron import DRIVER, host_packages, neuron_release
from llm_fleet.catalog.nodes import node_steps
from llm_fleet.rules.own_steps import check_neuron_pinned, check_own_scripts, check_steps, circle
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import LifecycleHook, NodeType
from llm_fleet.spec.cluster import NodeGroup, NodeScripts, OwnStep, OwnSteps


def step(**changed: Any) -> OwnStep:
    given: dict[str, Any] = {"name": "tools", "script": "tools.sh", "roles": [NodeType.COMPUTE]}
    return OwnStep(**given | changed)


def scripts(*steps: OwnStep, skip: Sequence[str] = ()) -> NodeScripts:
    return NodeScripts(skip_steps=skip, own=OwnSteps(folder="steps", steps=steps) if steps else None)


def nodes(role: NodeType, name: str = "trn") -> NodeGroup:
    return NodeGroup(name=name, role=role, instance_types=[], hook=LifecycleHook.ON_CREATE)


def reported(problems: list[Problem]) -> list[tuple[str, str]]:
    return [(problem.code.value, problem.where) for problem in problems]


def test_only_shipped_steps_can_be_skipped() -> None:
    assert check_steps(scripts(skip=["exporters", "mount_lustre"]), []) == []
    (problem,) = check_steps(scripts(skip=["exporters", "mount_luster"]), [])
    assert (problem.code.value, problem.where) == ("LF421", "skip_steps[1]")
    assert problem.remedy == "write `mount_lustre`"
    assert "mount_open_zfs" in problem.allowed


@pytest.mark.parametrize("changed", [{}, {"needs": ["mount_lustre"]}, {"timeout_seconds": 7200, "retries": 10}])
def test_valid_steps_pass(changed: dict[str, Any]) -> None:
    assert check_steps(scripts(step(**changed)), []) == []


@pytest.mark.parametrize(
    ("changed", "code", "where", "remedy"),
    [
        ({"name": "mount_lustre"}, "LF422", "mount_lustre.name", "`own_mount_lustre`"),
        ({"name": "My-Tools"}, "LF422", "My-Tools.name", "`my_tools`"),
        ({"name": "2"}, "LF422", "2.name", "lower-case"),
        ({"needs": ["mount_luster"]}, "LF421", "tools.needs[0]", "`mount_lustre`"),
        ({"needs": ["tools"]}, "LF423", "tools.needs", "remove one"),
        ({"roles": []}, "LF424", "tools.roles", "one role"),
        ({"timeout_seconds": 0}, "LF426", "tools.timeout_seconds", "write 1"),
        ({"timeout_seconds": 7201}, "LF426", "tools.timeout_seconds", "write 7200"),
        ({"retries": -1}, "LF426", "tools.retries", "write 0"),
        ({"retries": 11}, "LF426", "tools.retries", "write 10"),
    ],
)
def test_invalid_steps_are_reported_with_a_remedy(changed: dict[str, Any], code: str, where: str, remedy: str) -> None:
    (problem,) = check_steps(scripts(step(**changed)), [])
    assert (problem.code.value, problem.where) == (code, f"own.steps.{where}")
    assert remedy in problem.remedy


def test_two_steps_with_one_name_are_reported() -> None:
    assert reported(check_steps(scripts(step(), step()), [])) == [("LF422", "own.steps.tools.name")] * 2


def test_circular_needs_are_reported_once_with_all_steps() -> None:
    steps = [step(name="a", needs=["c"]), step(name="b", needs=["a"]), step(name="c", needs=["b", "users"])]
    (problem,) = check_steps(scripts(*steps), [])
    assert (problem.code.value, problem.where) == ("LF423", "own.steps.a.needs")
    assert "a -> c -> b -> a" in problem.message


def test_circular_needs_are_found() -> None:
    assert circle({"a": ["b"], "b": [], "c": ["a", "b", "x"]}) == []
    assert circle({"a": ["b"], "b": ["c"], "c": ["b"]}) == ["b", "c"]
    assert circle({}) == []


@pytest.mark.parametrize(
    ("script", "files", "said"),
    [
        ("tool.sh", {"tools.sh": b""}, "is not in the folder"),
        ("/tools.sh", {}, "must be a path in"),
        ("../tools.sh", {}, "must be a path in"),
        ("", {}, "must be a path in"),
        ("tools.sh", {"tools.sh": b"#!/bin/bash\r\n"}, "Windows line endings"),
        ("tools", {"tools": b"echo"}, "no #! line"),
    ],
)
def test_a_script_that_a_node_cannot_run_is_reported(script: str, files: dict[str, bytes], said: str) -> None:
    (problem,) = check_own_scripts(scripts(step(script=script)), files)
    assert (problem.code.value, problem.where) == ("LF425", "own.steps.tools.script")
    assert said in problem.message


def test_valid_scripts_pass() -> None:
    files = {"tools.sh": b"echo\n", "a/b.py": b"", "c": b"#!/usr/bin/perl\n"}
    assert check_own_scripts(scripts(*(step(script=name) for name in files)), files) == []
    (problem,) = check_own_scripts(scripts(step(script="tool.sh")), files)
    assert problem.remedy == "write `tools.sh`"


def test_a_role_without_steps_is_reported_unless_it_has_a_custom_step() -> None:
    compute, head = nodes(NodeType.COMPUTE), nodes(NodeType.CONTROLLER, "head")
    of_compute = [name for name, step in node_steps().items() if "Compute" in step.roles]
    assert check_steps(scripts(skip=of_compute[1:]), [compute]) == []
    (problem,) = check_steps(scripts(skip=of_compute), [compute])
    assert (problem.code.value, problem.where) == ("LF424", "skip_steps")
    assert "'trn'" in problem.message
    assert check_steps(scripts(step(), skip=of_compute), [compute]) == []
    assert len(check_steps(scripts(skip=list(node_steps())), [head, compute])) == 2


RELEASE = neuron_release("2.28.1")
PINNED: list[dict[str, Any]] = [
    {"name": package.name, "version": package.version} for package in host_packages(RELEASE) if package.name != DRIVER
]


@pytest.mark.parametrize("suffix", ["", "-6a1f2c3d4", "_amd64"])
def test_all_packages_except_the_driver_must_be_pinned(suffix: str) -> None:
    files = [{**file, "version": file["version"] + suffix} for file in PINNED]
    assert check_neuron_pinned("2.28.1", files) == []
    for index, file in enumerate(files):
        (problem,) = check_neuron_pinned("2.28.1", files[:index] + files[index + 1 :])
        assert problem.code.value == "LF453"
        assert file["name"] in problem.message


def test_a_package_pinned_in_another_version_is_reported() -> None:
    files = [{**file, "version": file["version"] + "0"} for file in PINNED]
    (problem,) = check_neuron_pinned("2.28.1", files)
    assert all(file["name"] in problem.message for file in PINNED)


def test_installation_requires_downloads() -> None:
    (problem,) = check_neuron_pinned("2.28.1", None)
    assert "`downloads` is required" in problem.message


def test_an_unknown_release_is_not_reported_again() -> None:
    assert check_neuron_pinned("1.0", None) == []
