"""`llm-fleet parallelcluster update-plan` and `deployed-configuration`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from llm_fleet.cli.main import main
from llm_fleet.named_files.deployed_configuration import DeployedConfiguration
from llm_fleet.rules.parallelcluster.cluster_names import name_with_hash
from tests.rules.parallelcluster.update.configurations import Configuration, base, edited, put

Capture = pytest.CaptureFixture[str]
_TRN1 = "Scheduling/SlurmQueues/trn1"
_SCRIPT = f"{_TRN1}/CustomActions/OnNodeConfigured/Script"
_STACK = "fleet-train"


def written(file: Path, configuration: Configuration, *, scripts: str = "one") -> str:
    """Write a template as the construct creates it, and return its path."""
    resource = {
        "Type": "Custom::PclusterCluster",
        "Properties": {
            "ClusterName": name_with_hash("train", configuration, "3.16.1"),
            "ClusterConfiguration": configuration,
        },
    }
    bundle = {"Type": "Custom::LifecycleBundle", "Properties": {"Digest": scripts}}
    file.write_text(json.dumps({"Resources": {"Cluster": resource, "Scripts": bundle}}))
    return str(file)


@pytest.fixture
def old(tmp_path: Path) -> str:
    return written(tmp_path / "old.json", base())


def test_an_update_that_passes(capsys: Capture, old: str, tmp_path: Path) -> None:
    new = written(tmp_path / "new.json", edited(base(), put(f"{_TRN1}/CapacityType", "SPOT")))
    assert main(["parallelcluster", "update-plan", "--deployed", old, "--planned", new]) == 0
    reported = capsys.readouterr()
    assert reported.out.startswith("drains the queue  Scheduling/SlurmQueues[trn1]/CapacityType\n")
    assert reported.err == ""


def test_a_new_cluster_must_be_allowed(capsys: Capture, old: str, tmp_path: Path) -> None:
    new = written(tmp_path / "new.json", edited(base(), put("HeadNode/InstanceType", "m5.4xlarge")))
    assert main(["parallelcluster", "update-plan", "--deployed", old, "--planned", new, "--cluster", "train"]) == 1
    reported = capsys.readouterr()
    assert "requires a new cluster  HeadNode/InstanceType" in reported.out
    assert "HeadNode.InstanceType  [LF683]" in reported.err
    arguments = ["--deployed", old, "--planned", new, "--immutable-changes", "new-cluster"]
    assert main(["parallelcluster", "update-plan", *arguments]) == 0
    reported = capsys.readouterr()
    assert reported.err == ""
    assert reported.out.startswith("requires a new cluster  HeadNode/InstanceType\n")
    assert "would be a new cluster, and train-" in reported.out


def test_a_stopped_fleet_allows_changes_that_require_it(capsys: Capture, old: str, tmp_path: Path) -> None:
    resource = f"{_TRN1}/ComputeResources/trn1"
    new = written(tmp_path / "new.json", edited(base(), put(f"{resource}/InstanceType", "trn1n.32xlarge")))
    assert main(["parallelcluster", "update-plan", "--deployed", old, "--planned", new]) == 1
    assert "[LF684]" in capsys.readouterr().err
    assert main(["parallelcluster", "update-plan", "--deployed", old, "--planned", new, "--fleet-is-stopped"]) == 0


def test_json_on_standard_output_alone(capsys: Capture, old: str, tmp_path: Path) -> None:
    new = written(tmp_path / "new.json", edited(base(), put("HeadNode/InstanceType", "m5.4xlarge")))
    assert main(["parallelcluster", "update-plan", "--deployed", old, "--planned", new, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["new_cluster"], document["passes"]) == (True, False)
    assert document["verdict"] == "NEEDS_NEW_CLUSTER"


def test_other_published_scripts_drain_the_queue_that_runs_them(capsys: Capture, tmp_path: Path) -> None:
    configuration = edited(base(), put(_SCRIPT, {"Fn::GetAtt": ["Scripts", "Uri"]}))
    old, new = (written(tmp_path / f"{one}.json", configuration, scripts=one) for one in ("one", "two"))
    assert main(["parallelcluster", "update-plan", "--deployed", old, "--planned", new, "--json"]) == 0
    (change,) = json.loads(capsys.readouterr().out)["changes"]
    assert (change["path"].rpartition("/")[2], change["verdict"]) == ("Script", "DRAINS")
    assert main(["parallelcluster", "update-plan", "--deployed", old, "--planned", old]) == 0
    assert capsys.readouterr().out == "nothing changes\n"


def test_a_missing_file(capsys: Capture, old: str) -> None:
    assert main(["parallelcluster", "update-plan", "--deployed", "missing.json", "--planned", old]) == 1
    reported = capsys.readouterr()
    assert reported.out == ""
    assert "[LF680]" in reported.err


def test_before_the_first_deployment(capsys: Capture, old: str, tmp_path: Path) -> None:
    empty = tmp_path / "empty.json"
    empty.write_text('{"Resources": {}}')
    assert (
        main(["parallelcluster", "update-plan", "--deployed", str(empty), "--planned", old, "--cluster", "train"]) == 0
    )
    assert capsys.readouterr().out == "the cluster is not deployed yet\n"
    assert main(["parallelcluster", "update-plan", "--deployed", str(empty), "--planned", old, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changes"] == []
    assert main(["parallelcluster", "update-plan", "--deployed", old, "--planned", old, "--cluster", "trainn"]) == 1
    assert "[LF682]" in capsys.readouterr().err


# The template of a stack.


@pytest.fixture
def cloudformation(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-west-2")
    with mock_aws():
        yield boto3.client("cloudformation")


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_the_deployed_template_is_written(cloudformation: Any, capsys: Capture, tmp_path: Path, form: str) -> None:
    body = "Resources: {Topic: {Type: 'AWS::SNS::Topic'}}"
    if form == "json":
        body = '{"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}'
    cloudformation.create_stack(StackName=_STACK, TemplateBody=body)
    out = tmp_path / "deployed"
    assert main(["parallelcluster", "deployed-configuration", "--stack", _STACK, "-o", str(out)]) == 0
    assert DeployedConfiguration.if_deployed(out, cluster="train") is None
    assert capsys.readouterr().out == ""
    assert main(["parallelcluster", "deployed-configuration", "--stack", _STACK, "-o", str(out)]) == 1
    assert "--force" in capsys.readouterr().err
    assert main(["parallelcluster", "deployed-configuration", "--stack", _STACK]) == 0
    assert capsys.readouterr().out == out.read_text()


def test_a_stack_that_does_not_exist_yet(cloudformation: Any, capsys: Capture, tmp_path: Path) -> None:
    assert main(["parallelcluster", "deployed-configuration", "--stack", _STACK]) == 1
    assert "[LF680]" in capsys.readouterr().err
    out = tmp_path / "deployed.json"
    assert main(["parallelcluster", "deployed-configuration", "--stack", _STACK, "--none-yet-ok", "-o", str(out)]) == 0
    assert DeployedConfiguration.if_deployed(out, cluster="train") is None


def test_without_a_region(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    assert main(["parallelcluster", "deployed-configuration", "--stack", _STACK, "--none-yet-ok"]) == 1
    assert "--region" in capsys.readouterr().err
