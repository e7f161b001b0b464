"""The cluster, service and Region of a command."""

import argparse
from pathlib import Path

import pytest

from llm_fleet.cli.place import Kind, Place, add_place, place_of
from llm_fleet.rules.feature_codes import CommandCode
from tests.cli.refused import code_of, refused
from tools.synth_environment import ROOT


def test_a_place_reports_its_region_where_it_is_known():
    place = Place(kind=Kind.HYPERPOD, name="ml", region="us-east-2")
    assert str(place) == "HyperPod cluster ml in us-east-2"
    assert str(Place(kind=Kind.SERVICE, name="talk", region=None)) == "inference service talk"


EXAMPLES = ROOT / "examples"


def arguments(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_place(parser)
    return parser.parse_args(words)


def in_file(name: str, *words: str) -> argparse.Namespace:
    return arguments("-f", str(EXAMPLES / f"{name}.yaml"), *words)


def test_the_only_cluster_need_not_be_named():
    place = place_of(in_file("hyperpod-trn1"))
    assert (place.kind, place.region) == (Kind.HYPERPOD, "us-west-2")
    assert place.stack is not None
    assert place.stack.endswith(f"-{place.key}")


def test_a_service_is_a_place():
    place = place_of(in_file("inference-inf2"))
    assert place.kind is Kind.SERVICE
    assert place.stack == place.name


def test_the_region_of_the_command_line_wins():
    assert place_of(in_file("hyperpod-trn1", "--region", "eu-west-1")).region == "eu-west-1"


def test_one_of_several_clusters_must_be_named():
    assert code_of(lambda: place_of(in_file("hyperpod-full"))) is CommandCode.PLACE_NEEDED
    assert place_of(in_file("hyperpod-full", "full-train")).key == "train"


def test_a_misspelled_name_is_reported_with_the_nearest_one():
    assert code_of(lambda: place_of(in_file("hyperpod-full", "trainn")), match="train") is CommandCode.PLACE_UNKNOWN


def test_another_kind_is_reported():
    given = in_file("inference-inf2", "chat")
    assert code_of(lambda: place_of(given, kinds=(Kind.HYPERPOD,))) is CommandCode.PLACE_KIND


def test_without_a_file_a_name_in_aws_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    place = place_of(arguments("train", "--region", "us-east-1", "--kind", "parallelcluster"))
    assert (place.kind, place.name, place.region, place.key) == (Kind.PARALLELCLUSTER, "train", "us-east-1", None)
    assert code_of(lambda: place_of(arguments())) is CommandCode.FILE_OR_NAME


def test_an_invalid_file_is_reported_with_a_note_that_it_is_optional(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "fleet.yaml").write_text("fleet: x\nregion: nowhere\n")
    refused(lambda: place_of(arguments("-f", str(tmp_path / "fleet.yaml"))), match="nowhere")
    assert (
        "can be queried without this file: run the command in a directory without a fleet.yaml"
        in capsys.readouterr().err
    )
    assert place_of(arguments("-f", str(EXAMPLES / "hyperpod-trn1.yaml"))).key is not None
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("option", "word"), [(False, "the cluster as NAME"), (True, "the cluster with -c NAME")])
def test_the_remedy_names_the_option_of_the_command(
    option: bool, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    parser = argparse.ArgumentParser()
    add_place(parser, option=option)
    assert word in refused(lambda: place_of(parser.parse_args([]))).problems[0].remedy
