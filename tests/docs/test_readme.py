"""The README's samples work as it says."""

import re
import textwrap
from pathlib import Path

import aws_cdk as cdk
import pytest
import yaml
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Template

from llm_fleet.cli.main import main
from tools.synth_environment import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
WITH_TWO_ERRORS = """\
fleet: launch-post
region: us-west-2
network: {az: usw2-az4}
clusters:
  train:
    kind: hyperpod
    groups:
      controller: {role: controller, type: ml.m5.xlarge, count: 1}
      workers: {role: compute, type: trn1.32xlarge, count: 4}
"""


def samples(language: str) -> list[str]:
    return [textwrap.dedent(found) for found in re.findall(rf"^ *```{language}\n(.*?)^ *```", README, re.S | re.M)]


def in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.chdir(folder)
    Path("fleet.yaml").write_text(text)


def with_training(whole: str, part: str) -> str:
    """Return the first fleet file with the lines of a training run."""
    fleet, added = yaml.safe_load(whole), yaml.safe_load(part)
    for name, cluster in added["clusters"].items():
        fleet["clusters"][name] |= cluster
    return yaml.safe_dump({**fleet, "jobs": added["jobs"]})


def test_its_fleet_files_are_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    whole, parallelcluster, service, training, without_cluster, day_two = samples("yaml")
    fleet, _, _ = whole.partition("clusters:\n")
    name_and_region = "fleet: chat\nregion: us-west-2\n"
    source = tmp_path / "train" / "train.py"
    source.parent.mkdir()
    source.touch()
    for text in (
        whole,
        fleet + parallelcluster,
        name_and_region + service,
        with_training(whole, training),
        name_and_region + "network: {az: usw2-az4}\n" + without_cluster,
        whole + day_two,
    ):
        in_folder(tmp_path, monkeypatch, text)
        assert main(["validate", "fleet.yaml"]) == 0, capsys.readouterr()


def test_errors_are_reported_as_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (shown,) = [text for text in samples("console") if "problems" in text]
    in_folder(tmp_path, monkeypatch, WITH_TWO_ERRORS)
    assert main(["validate", "fleet.yaml"]) == 1
    assert f"$ llm-fleet validate fleet.yaml\n{capsys.readouterr().err}".strip() == shown.strip()


def test_its_python_creates_a_cluster_in_another_stack(stack: cdk.Stack):
    (code,) = samples("python")
    engineers = iam.Role.from_role_name(stack, "Engineers", "ml-engineers")
    exec(compile(code, "README.md", "exec"), {"self": stack, "engineers": engineers})
    Template.from_stack(stack).resource_count_is("AWS::SageMaker::Cluster", 1)


def test_every_make_command_that_it_names_exists():
    makefile = (ROOT / "Makefile").read_text()
    named = set(re.findall(r"make ([a-z]+[a-z-]*)", " ".join(samples("console"))))
    assert named >= {"demo", "test"}
    assert not [target for target in named if not re.search(rf"^{target}:", makefile, re.M)]
