"""Steps of the user's own and the packages that they install."""

from dataclasses import dataclass
from typing import Any

import pytest

from llm_fleet.catalog.neuron import DRIVER, host_packages, neuron_release
from llm_fleet.catalog.nodes import node_steps
from llm_fleet.rules.own_steps import (
    check_neuron_pinned,
    check_own_scripts,
    check_own_steps,
    check_roles_have_steps,
    check_skipped_steps,
    circle,
)
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import NodeType


@dataclass(frozen=True, kw_only=True)
class Step:
    name: str = "tools"
    script: str = "tools.sh"
    roles: tuple[NodeType, ...] = (NodeType.COMPUTE,)
    needs: tuple[str, ...] = ()
    timeout_seconds: int = 300
    retries: int = 0


def told(problems: list[Problem]) -> list[tuple[str, str]]:
    return [(problem.code.value, problem.where) for problem in problems]


def test_shipped_steps_may_be_skipped_and_others_not() -> None:
    assert check_skipped_steps(["exporters", "mount_lustre"]) == []
    (problem,) = check_skipped_steps(["exporters", "mount_luster"])
    assert (problem.code.value, problem.where) == ("LF421", "[1]")
    assert problem.remedy == "write 'mount_lustre'"
    assert "mount_open_zfs" in problem.allowed


def test_one_name_is_no_list_of_names() -> None:
    (problem,) = check_skipped_steps("exporters")
    assert (problem.code.value, problem.where, problem.remedy) == ("LF421", "", "put it in brackets")


@pytest.mark.parametrize("changed", [{}, {"needs": ("mount_lustre",)}, {"timeout_seconds": 7200, "retries": 10}])
def test_good_steps_pass(changed: dict[str, Any]) -> None:
    assert check_own_steps([Step(**changed)]) == []


@pytest.mark.parametrize(
    ("changed", "code", "where", "remedy"),
    [
        ({"name": "mount_lustre"}, "LF422", "[0].name", "'own_mount_lustre'"),
        ({"name": "My-Tools"}, "LF422", "[0].name", "'my_tools'"),
        ({"name": "2"}, "LF422", "[0].name", "lower-case"),
        ({"needs": ("mount_luster",)}, "LF421", "[0].needs[0]", "'mount_lustre'"),
        ({"needs": "docker"}, "LF421", "[0].needs", "brackets"),
        ({"needs": ("tools",)}, "LF423", "[0].needs", "take one"),
        ({"roles": ()}, "LF424", "[0].roles", "one role"),
        ({"timeout_seconds": 0}, "LF426", "[0].timeout_seconds", "write 1"),
        ({"timeout_seconds": 7201}, "LF426", "[0].timeout_seconds", "write 7200"),
        ({"timeout_seconds": 1.5}, "LF426", "[0].timeout_seconds", "whole number"),
        ({"retries": -1}, "LF426", "[0].retries", "write 0"),
        ({"retries": 11}, "LF426", "[0].retries", "write 10"),
        ({"retries": True}, "LF426", "[0].retries", "whole number"),
    ],
)
def test_bad_steps_are_told_with_what_to_write(changed: dict[str, Any], code: str, where: str, remedy: str) -> None:
    (problem,) = check_own_steps([Step(**changed)])
    assert (problem.code.value, problem.where) == (code, where)
    assert remedy in problem.remedy


def test_two_steps_of_one_name() -> None:
    assert told(check_own_steps([Step(), Step()])) == [("LF422", "[0].name"), ("LF422", "[1].name")]


def test_a_circle_is_told_once_and_in_full() -> None:
    steps = [Step(name="a", needs=("c",)), Step(name="b", needs=("a",)), Step(name="c", needs=("b", "users"))]
    (problem,) = check_own_steps(steps)
    assert (problem.code.value, problem.where) == ("LF423", "[0].needs")
    assert "a -> c -> b -> a" in problem.message


def test_circles() -> None:
    assert circle({"a": ["b"], "b": [], "c": ["a", "b", "x"]}) == []
    assert circle({"a": ["b"], "b": ["c"], "c": ["b"]}) == ["b", "c"]
    assert circle({}) == []


@pytest.mark.parametrize(
    ("script", "scripts", "said"),
    [
        ("tools.sh", None, "has no folder"),
        ("tool.sh", {"tools.sh": b""}, "is not in the folder"),
        ("/tools.sh", {}, "no path below"),
        ("../tools.sh", {}, "no path below"),
        ("", {}, "no path below"),
        ("tools.sh", {"tools.sh": b"#!/bin/bash\r\n"}, "Windows line ends"),
        ("tools", {"tools": b"echo"}, "no #! line"),
    ],
)
def test_a_script_that_a_node_could_not_run(script: str, scripts: dict[str, bytes] | None, said: str) -> None:
    (problem,) = check_own_scripts([Step(script=script)], scripts)
    assert (problem.code.value, problem.where) == ("LF425", "[0].script")
    assert said in problem.message


def test_scripts_that_a_node_can_run() -> None:
    scripts = {"tools.sh": b"echo\n", "a/b.py": b"", "c": b"#!/usr/bin/perl\n"}
    assert check_own_scripts([Step(script=name) for name in scripts], scripts) == []
    (problem,) = check_own_scripts([Step(script="tool.sh")], scripts)
    assert problem.remedy == "write 'tools.sh'"


def test_a_role_left_without_steps_is_told_unless_an_own_step_is_there_for_it() -> None:
    nodes = [("head", NodeType.CONTROLLER, "OnCreate"), ("trn", NodeType.COMPUTE, "OnCreate")]
    of_compute = [name for name, step in node_steps().items() if "Compute" in step.roles]
    assert check_roles_have_steps([], [], nodes=nodes) == []
    assert check_roles_have_steps(of_compute[1:], [], nodes=nodes[1:]) == []
    (problem,) = check_roles_have_steps(of_compute, [], nodes=nodes[1:])
    assert problem.code.value == "LF424"
    assert "'trn'" in problem.message
    assert check_roles_have_steps(of_compute, [Step()], nodes=nodes[1:]) == []
    assert len(check_roles_have_steps(list(node_steps()), [], nodes=nodes)) == 2


RELEASE = neuron_release("2.28.1")
PINNED: list[dict[str, Any]] = [
    {"name": package.name, "version": package.version} for package in host_packages(RELEASE) if package.name != DRIVER
]


@pytest.mark.parametrize("suffix", ["", "-6a1f2c3d4", "_amd64"])
def test_all_but_the_driver_must_be_pinned(suffix: str) -> None:
    files = [{**file, "version": file["version"] + suffix} for file in PINNED]
    assert check_neuron_pinned("2.28.1", files) == []
    for index, file in enumerate(files):
        (problem,) = check_neuron_pinned("2.28.1", files[:index] + files[index + 1 :])
        assert problem.code.value == "LF453"
        assert file["name"] in problem.message


def test_another_version_is_another_package() -> None:
    files = [{**file, "version": file["version"] + "0"} for file in PINNED]
    (problem,) = check_neuron_pinned("2.28.1", files)
    assert all(file["name"] in problem.message for file in PINNED)


def test_nodes_that_fetch_nothing_install_nothing() -> None:
    (problem,) = check_neuron_pinned("2.28.1", None)
    assert "fetch nothing" in problem.message


def test_an_unknown_release_is_told_elsewhere() -> None:
    assert check_neuron_pinned("1.0", None) == []
