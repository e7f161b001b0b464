"""The Neuron releases in the catalog, and derived facts."""

import json

import pytest

from llm_fleet.catalog.hyperpod import instances
from llm_fleet.catalog.neuron import (
    DRIVER,
    RUNTIME,
    NeuronRelease,
    alternative_packages,
    alternative_releases,
    compatibility,
    default_neuron_release,
    default_reason,
    host_packages,
    neuron_release,
    neuron_releases,
    parts,
)
from tools.synth_environment import ROOT

NEURON_FAMILIES = {each.family for each in instances().values() if each.accelerator == "neuron"}


def test_a_release_has_the_versions_of_its_packages() -> None:
    release = neuron_release("2.28.1")
    assert [(package.name, package.version) for package in host_packages(release)] == [
        ("aws-neuronx-dkms", "2.26.10.0"),
        ("aws-neuronx-runtime-lib", "2.30.51.0"),
        ("aws-neuronx-collectives", "2.30.59.0"),
        ("aws-neuronx-tools", "2.28.23.0"),
    ]
    assert release.python["torch-neuronx"][0] == "2.9.0.2.12.22436"
    assert release.date == "2026-03-13"


def test_an_unknown_release_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        neuron_release("2.28")


@pytest.mark.parametrize("release", neuron_releases().values(), ids=lambda release: str(release.name))
def test_each_release_has_the_same_host_packages_with_comparable_versions(release: NeuronRelease) -> None:
    assert list(release.host) == list(neuron_release("2.33.0").host)
    assert all(len(parts(version)) == 4 for version in release.host.values())


def test_releases_and_their_drivers_and_runtimes_are_in_ascending_order() -> None:
    names = [parts(name) for name in neuron_releases()]
    assert names == sorted(names, reverse=True)
    for package in (DRIVER, RUNTIME):
        versions = [parts(release.host[package]) for release in neuron_releases().values()]
        assert versions == sorted(versions, reverse=True)


@pytest.mark.parametrize(("family", "name"), [("trn1", "2.28.1"), ("trn1n", "2.28.1"), ("trn2", "2.33.0")])
def test_each_neuron_family_has_a_default_release_with_its_reason(family: str, name: str) -> None:
    release = default_neuron_release(family)
    assert release is not None
    assert release.name == name
    assert family in release.families
    assert default_reason(family)


def test_every_neuron_family_of_the_catalog_has_a_default_release() -> None:
    assert {family for family in NEURON_FAMILIES if default_neuron_release(family) is None} == set()


def test_other_families_have_no_default_release() -> None:
    assert default_neuron_release("p5") is None


@pytest.mark.parametrize("release", neuron_releases().values(), ids=lambda release: str(release.name))
def test_driver_and_runtime_of_one_release_are_compatible(release: NeuronRelease) -> None:
    for edge in compatibility():
        if parts(release.host[edge.package]) >= parts(edge.from_version):
            assert parts(release.host[edge.other]) >= parts(edge.at_least)


@pytest.mark.parametrize(("name", "others"), [("2.28.1", ["2.31.1"]), ("2.30.0", ["2.31.1"]), ("2.31.0", [])])
def test_an_alternative_exists_for_a_runtime_that_is_too_old_for_new_drivers(name: str, others: list[str]) -> None:
    assert [release.name for release in alternative_releases(neuron_release(name))] == others


def test_an_alternative_does_not_change_the_driver() -> None:
    assert [package.name for package in alternative_packages(neuron_release("2.31.1"))] == [
        "aws-neuronx-runtime-lib",
        "aws-neuronx-collectives",
        "aws-neuronx-tools",
    ]


def test_the_data_file_has_source_and_date() -> None:
    document = json.loads((ROOT / "constructs/llm_fleet/catalog/data/neuron_releases.json").read_text())
    assert "n2-manifest.json" in document["source"]
    assert document["checked"] == "2026-11-20"
