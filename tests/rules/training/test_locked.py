"""What environments need of the lock file, and what the user is told to do where it is not there."""

import pytest

from llm_fleet.lifecycle.training_runtime import TrainingEnvironment as Env
from llm_fleet.lifecycle.training_runtime import TrainingRuntime
from llm_fleet.rules.training.check_environment import check_training
from llm_fleet.rules.training.packages import Wanted, find, fits_python
from tests.rules.training.runtimes import NXD, found, place, wheel


def names(*wanted: str) -> list[str]:
    asked = [Wanted(name=each.partition("==")[0], version=each.partition("==")[2] or None) for each in wanted]
    return [name for name, _ in find(asked, NXD, kind="wheel").packages]


def test_what_is_needed_comes_with_it() -> None:
    assert names("transformers") == ["tokenizers", "transformers"]
    assert names("Torch_NeuronX==2.8.0.2.12.22436") == ["libneuronxla", "torch-neuronx"]


def test_a_pin_takes_builds_of_its_version_and_no_other() -> None:
    (cc,) = find([Wanted(name="neuronx-cc", version="2.23.6484.0")], NXD, kind="wheel").packages
    assert cc == ("neuronx-cc", "2.23.6484.0+3b612583")
    assert find([Wanted(name="neuronx-cc", version="2.23.6484")], NXD, kind="wheel").missing


def test_circles_end() -> None:
    circle = (wheel("a", "1", "b"), wheel("b", "1", "a"))
    assert find([Wanted(name="a")], circle, kind="wheel").packages == [("a", "1"), ("b", "1")]


def test_what_is_missing_is_told_with_the_command_that_pins_it() -> None:
    (problem,) = check_training(TrainingRuntime(environments=[Env.neuron()]), place(files=NXD[1:]))
    assert (problem.code.value, problem.where) == ("LF812", "environments[0]")
    assert "neuronx-cc==2.23.6484.0" in problem.message
    assert "llm-fleet mirror lock --system SYSTEM --python 3.10 --environment nxd --neuron 2.28.1" in problem.remedy


def test_a_lock_without_wheels_is_told_so() -> None:
    debs = [{**wheel("a", "1"), "kind": "deb"}]
    (problem,) = check_training(TrainingRuntime(environments=[Env.neuron()]), place(files=debs))
    assert "no wheels" in problem.message


def test_what_a_package_needs_and_the_lock_has_not_is_missing_too() -> None:
    files = (wheel("a", "1", "b"),)
    assert found(place(files=files), Env.wheels(name="e", packages=["a"], python="3.11")) == [
        ("LF812", "environments[0].packages")
    ]


def test_nothing_can_be_installed_from_nowhere() -> None:
    nowhere = place(source="none", files=())
    assert found(nowhere, Env.neuron()) == [("LF813", "environments[0]")]
    assert found(nowhere, Env.container(image="x/y:1")) == []


def test_several_versions_are_told_unless_one_is_named() -> None:
    files = (wheel("a", "1"), wheel("a", "2"))
    assert found(place(files=files), Env.wheels(name="e", packages=["a"], python="3.11")) == [
        ("LF815", "environments[0].packages")
    ]
    assert found(place(files=files), Env.wheels(name="e", packages=["a==2"], python="3.11")) == []


def test_wheels_for_another_python_are_told() -> None:
    assert found(place(files=NXD), Env.neuron(python="3.11")) == [("LF814", "environments[0].python")]


@pytest.mark.parametrize(
    ("tag", "fits"),
    [
        ("cp310-cp310-linux_x86_64", True),
        ("cp311-cp311-linux_x86_64", False),
        ("cp39-cp39-linux_x86_64", False),
        ("cp38-abi3-manylinux2014_x86_64", True),
        ("cp311-abi3-manylinux2014_x86_64", False),
        ("py3-none-any", True),
        ("py2.py3-none-any", True),
        ("py39-none-any", True),
        ("py311-none-any", False),
        ("py2-none-any", False),
        ("pp310-pypy310_pp73-linux_x86_64", False),
    ],
)
def test_tags_of_wheels(tag: str, fits: bool) -> None:
    assert fits_python(wheel("a", "1", tag=tag), "3.10") is fits


def test_a_closed_network_is_not_left() -> None:
    closed = place(internet=False, source="vendor", files=NXD)
    assert found(closed, Env.neuron()) == [("LF822", "environments[0]")]
    assert found(place(internet=False, files=NXD), Env.neuron()) == []
    own = "111122223333.dkr.ecr.{}.amazonaws.com/x:1"
    assert found(closed, Env.container(image="x/y:1")) == [("LF822", "environments[0].image")]
    assert found(closed, Env.container(image=own.format("us-east-1"))) == [("LF822", "environments[0].image")]
    assert found(closed, Env.container(image=own.format("us-west-2"))) == []
