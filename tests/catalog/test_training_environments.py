"""The catalog of training stacks and fabrics agrees with that of Neuron's releases, and has a reason for each value."""

import pytest

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.neuron import neuron_releases
from llm_fleet.catalog.training_environments import (
    TrainingStack,
    fabric_for,
    glibc_shortfall,
    pythons_of,
    stacks_for,
    training_fabrics,
    training_stacks,
    usual_python,
    usual_release,
    usual_stack,
    vendor_packages,
)
from llm_fleet.rules.training.packages import plain


@pytest.mark.parametrize("stack", training_stacks().values(), ids=lambda stack: stack.name)
def test_every_release_of_a_stack_has_all_its_packages_and_a_python(stack: TrainingStack) -> None:
    assert stack.releases()
    assert usual_release(stack.name) in [each.name for each in stack.releases()]
    for release in stack.releases():
        assert set(stack.packages) <= set(stack.pins(release))
        assert usual_python(release.name) in pythons_of(release.name)
        assert set(map(plain, stack.packages)) <= vendor_packages()


def test_the_default_stack_of_a_family_supports_it() -> None:
    for family in ("trn1", "trn1n", "trn2"):
        stack, release = usual_stack(family) or ("", "")
        assert stack in stacks_for(family)
        assert family in neuron_releases()[release].families
    assert usual_stack("inf2") is None
    assert stacks_for("inf2") == []


def test_a_release_without_a_stack_has_no_pins() -> None:
    with pytest.raises(KeyError):
        training_stacks()["nxd"].pins(neuron_releases()["2.33.0"])


def test_ends_of_support_of_python_versions_are_announced() -> None:
    assert "3.9" in pythons_of("2.26.1")
    assert "3.9" not in pythons_of("2.27.1")
    assert "3.10" in pythons_of("2.29.1")
    assert "3.10" not in pythons_of("2.30.0")


def test_the_c_library_of_each_operating_system_is_known() -> None:
    assert glibc_shortfall("alinux2023", "2.9.0.2.13.24727") == ("2.34", "2.35")
    assert glibc_shortfall("alinux2023", "2.8.0.2.12.22436") is None
    assert glibc_shortfall("ubuntu2204", "2.14.3.0") is None
    assert glibc_shortfall("an-os-of-tomorrow", "2.14.3.0") is None


def test_every_variable_has_its_reason() -> None:
    assert all(variable.reason for fabric in training_fabrics().values() for variable in fabric.variables)
    assert {each["name"] for each in load("training_fabrics")["nccl-efa"]["variables"]}.isdisjoint(
        {"FI_EFA_USE_DEVICE_RDMA", "RDMAV_FORK_SAFE", "FI_EFA_FORK_SAFE"}
    )


def test_every_kind_of_nodes_has_a_fabric() -> None:
    kinds = [(accelerator, efa) for accelerator in ("neuron", "gpu", None) for efa in (True, False)]
    assert {fabric_for(accelerator, efa=efa).name for accelerator, efa in kinds} == set(training_fabrics())
    with pytest.raises(LookupError):
        fabric_for("tpu", efa=False)
