"""Which Neuron release goes with which instances."""

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.neuron import check_neuron_release


@pytest.mark.parametrize(
    ("name", "families"), [("2.28.1", ["trn1"]), ("2.33.0", ["trn2", "trn1n"]), ("2.20.0", ["trn1"])]
)
def test_a_release_that_fits_is_no_problem(name: str, families: list[str]) -> None:
    assert check_neuron_release(name, families) == []


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("2.28", "write '2.28.1'"),
        ("v2.31", "write '2.31.1'"),
        ("2.28.9", "write '2.28.1'"),
        ("2,28.1", "write '2.28.1'"),
        ("newest", "write one of the allowed"),
        ("", "write one of the allowed"),
    ],
)
def test_an_unknown_release_is_offered_the_nearest(name: str, remedy: str) -> None:
    (problem,) = check_neuron_release(name, ["trn1"])
    assert problem.code is Code.NEURON_RELEASE_UNKNOWN
    assert problem.remedy == remedy
    assert "2.28.1" in problem.allowed


def test_a_release_without_pytorch_for_the_family_is_told() -> None:
    (problem,) = check_neuron_release("2.32.0", ["trn1", "trn2"])
    assert problem.code is Code.NEURON_RELEASE_FAMILY
    assert problem.message == "Neuron 2.32.0 is not made for trn1"
    assert problem.remedy == "take '2.33.0'"


def test_a_release_from_before_the_family_is_told() -> None:
    (problem,) = check_neuron_release("2.20.0", ["trn2"])
    assert problem.remedy == "take '2.24.1'"


def test_a_family_that_no_release_knows_is_told() -> None:
    (problem,) = check_neuron_release("2.33.0", ["trn9"])
    assert problem.code is Code.NEURON_RELEASE_FAMILY
    assert problem.remedy == "leave trn9 out"


def test_a_release_for_a_cluster_without_devices_is_told() -> None:
    (problem,) = check_neuron_release("2.28.1", [])
    assert problem.code is Code.NEURON_WITHOUT_DEVICES


def test_a_token_is_left_alone() -> None:
    assert check_neuron_release("${Token[TOKEN.12]}", []) == []
