"""The catalog of model servers, compared with the catalogs that it refers to."""

import re

import pytest

from llm_fleet.catalog.model_server import ModelServerFacts, image_account, image_regions, model_servers
from llm_fleet.catalog.network import regions
from llm_fleet.catalog.neuron import RUNTIME, neuron_instance, neuron_instance_names, neuron_releases, sizes_of


@pytest.mark.parametrize("facts", model_servers().values(), ids=lambda facts: str(facts.name))
def test_runtime_and_compiler_of_each_image_belong_to_one_release(facts: ModelServerFacts) -> None:
    releases = [each for each in neuron_releases().values() if each.host[RUNTIME] == facts.runtime]
    assert any(facts.compiler in each.python["neuronx-cc"] for each in releases), facts
    named = re.search(r"sdk(\d+\.\d+)", facts.tag)
    if named:  # Neuron 2.28.1 fixed only the driver of 2.28.0, so minor releases are compared
        assert any(each.name.startswith(named[1]) for each in releases)


@pytest.mark.parametrize("facts", model_servers().values(), ids=lambda facts: str(facts.name))
def test_each_server_runs_on_known_families(facts: ModelServerFacts) -> None:
    known = {neuron_instance(name).family for name in neuron_instance_names()}  # type: ignore[union-attr]
    assert set(facts.families) <= known


@pytest.mark.parametrize("table", ["huggingface-llm", "huggingface-vllm"])
def test_image_regions_exist_and_have_an_account(table: str) -> None:
    assert set(image_regions(table)) <= set(regions())
    assert all(re.fullmatch(r"\d{12}", image_account(table, region) or "") for region in image_regions(table))


def test_the_sizes_of_a_family_are_sorted() -> None:
    assert [each.name for each in sizes_of("inf2")] == ["inf2.xlarge", "inf2.8xlarge", "inf2.24xlarge", "inf2.48xlarge"]


def test_instances_without_supported_neuron_devices_are_unknown() -> None:
    assert neuron_instance("m5.xlarge") is None
    assert neuron_instance("inf2.2xlarge") is None
    assert neuron_instance("inf1.xlarge") is None
