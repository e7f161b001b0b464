"""Values of a runtime that are of the wrong type: told where they stand, not traced back."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from llm_fleet.lifecycle.node_setup import NodeSetup
from llm_fleet.lifecycle.training_runtime import CompileCache, TrainingEnvironment, TrainingRuntime
from llm_fleet.rules.problem import FleetError

IMAGE = "111122223333.dkr.ecr.us-west-2.amazonaws.com/training:2026-11-20"
container: Callable[..., Any] = TrainingEnvironment.container
neuron: Callable[..., Any] = TrainingEnvironment.neuron
runtime: Callable[..., Any] = TrainingRuntime
setup: Callable[..., Any] = NodeSetup
AGELESS = SimpleNamespace(max_age_days=None, max_gib=None)

BAD: dict[str, tuple[Callable[..., Any], dict[str, Any], str]] = {
    "an image that is none": (container, {"image": 1}, "image"),
    "a name that is none": (container, {"image": IMAGE, "name": b"x"}, "label"),
    "a group in place of several": (neuron, {"groups": "workers"}, "groups"),
    "a group without a name": (neuron, {"groups": [None]}, "groups[0]"),
    "a stack that is a list": (neuron, {"stack": []}, "stack"),
    "a release that is a number": (neuron, {"release": 2.28}, "release"),
    "packages that are none": (neuron, {"packages": None}, "packages"),
    "a package that is a number": (neuron, {"packages": ["torch", 1]}, "packages[1]"),
    "a use that there is none of": (neuron, {"use": "jobs "}, "use"),
    "one environment in place of several": (runtime, {"environments": neuron()}, "environments"),
    "an environment that is none": (runtime, {"environments": ["neuron"]}, "environments[0]"),
    "a folder that is none": (runtime, {"folder": True}, "folder"),
    "a cache that is none": (runtime, {"compile_cache": 30}, "compile_cache"),
    "a cache without an age": (runtime, {"compile_cache": AGELESS}, "compile_cache.max_age_days"),
    "variables that are none": (runtime, {"variables": None}, "variables"),
    "a variable whose name is a number": (runtime, {"variables": {1: "a"}}, "variables.1"),
    "processes in a list": (runtime, {"processes": [8]}, "processes"),
    "a secret's name": (runtime, {"hub_token_secret": "hf_secret"}, "hub_token_secret"),
    "a runtime that is a mapping": (setup, {"training": {}}, "training"),
}


@pytest.mark.parametrize("name", BAD)
def test_each_is_told_where_it_stands(name: str):
    make, told, where = BAD[name]
    with pytest.raises(FleetError) as caught:
        make(**told)
    (problem,) = caught.value.problems
    assert problem.where == where
    assert problem.remedy
    assert "hf_secret" not in str(caught.value)


def test_what_is_right_passes():
    good = TrainingRuntime(
        environments=(TrainingEnvironment.container(image=IMAGE, groups=("workers",)),),
        variables={"NCCL_DEBUG": "${Token[x.1]}"},
        processes={"workers": 8},
        compile_cache=CompileCache(),
    )
    assert NodeSetup(training=good).training is good
