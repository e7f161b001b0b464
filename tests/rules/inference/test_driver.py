"""The edge between the host's Neuron driver and the runtime in the image."""

import pytest

from llm_fleet.rules.inference.driver import check_driver, driver_for, runtime_of
from llm_fleet.spec.model_server import ModelServer, ServerKind
from tests.rules.inference.services import OWN_IMAGE, TOKEN, a_server


@pytest.mark.parametrize(
    ("kind", "driver"),
    [
        (ServerKind.TGI, "2.28.0.0"),
        (ServerKind.HUGGING_FACE_VLLM, "2.28.0.0"),
        (ServerKind.AWS_VLLM, "2.28.0.0"),
        (ServerKind.AWS_VLLM_NEURON, "2.31.7.0"),
    ],
)
def test_each_image_has_a_driver_that_it_works_with(kind: ServerKind, driver: str) -> None:
    server = a_server(kind=kind)
    assert driver_for(server) == driver
    assert check_driver(server, driver) == []


@pytest.mark.parametrize(
    ("runtime", "driver"),
    [("2.32.31.0", "2.28.0.0"), ("2.33.10.0", "2.31.7.0"), ("2.20.0.0", "2.28.0.0"), (TOKEN, "2.28.0.0")],
)
def test_an_image_of_ones_own_gets_the_driver_for_its_runtime(runtime: str, driver: str) -> None:
    assert driver_for(a_server(image=OWN_IMAGE, runtime_version=runtime)) == driver


def test_a_driver_too_new_names_both_and_the_way_out() -> None:
    (problem,) = check_driver(a_server(), "2.29.0.0")
    assert problem.code.value == "LF706"
    assert "2.29.0.0" in problem.message
    assert "2.26.42.0" in problem.message
    assert "'2.28.0.0'" in problem.remedy
    assert problem.remedy.endswith("goes the server 'aws-vllm-neuron' on trn2"), "not on the inf2 that it is told of"
    assert problem.allowed.split(", ")[0] == "2.28.0.0"
    assert problem.allowed.split(", ")[-1] == "2.22.2.0"


def test_a_driver_too_old_for_the_runtime() -> None:
    server = a_server(image=OWN_IMAGE, runtime_version="2.32.31.0")
    (problem,) = check_driver(server, "2.26.10.0")
    assert problem.code.value == "LF706"
    assert OWN_IMAGE in problem.message
    assert problem.allowed == "2.28.0.0"
    assert check_driver(server, "2.27.4.0") == []


def test_a_driver_that_is_no_version() -> None:
    assert [problem.code.value for problem in check_driver(a_server(), "2.28")] == ["LF707"]


@pytest.mark.parametrize(
    ("server", "driver"),
    [
        (a_server(), None),
        (a_server(), TOKEN),
        (a_server(image=OWN_IMAGE, runtime_version=TOKEN), "2.29.0.0"),
        (a_server(image=OWN_IMAGE, runtime_version="2.3"), "2.29.0.0"),  # told by the rules of the server
    ],
)
def test_what_is_not_known_passes(server: ModelServer, driver: str | None) -> None:
    assert check_driver(server, driver) == []


def test_the_runtime_is_the_one_told() -> None:
    assert runtime_of(a_server()) == "2.26.42.0"
    assert runtime_of(a_server(image=OWN_IMAGE, runtime_version="2.33.10.0")) == "2.33.10.0"
