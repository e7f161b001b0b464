"""The demo uploads the files to the AWS emulator that a deployment's model check requires."""

import io
import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws
from rich.console import Console

from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.load import load_fleet, parse_fleet
from llm_fleet.lifecycle.model_checker.check import Folder, findings
from llm_fleet.rules.inference.model import requested_of_model
from llm_fleet_local.command.placeholder_models import PlaceholderModels, files_of
from tests.fleet_file.good_service import MODEL, edited
from tools.synth_environment import ROOT

EXAMPLE = ROOT / "examples/inference-inf2.yaml"
OWN = ("{bucket: data, prefix: tanuki-8b}", "data", "fleet-data-bucket")


class Bringing:
    """A run over moto, and what it said."""

    def __init__(self, fleet: Fleet) -> None:
        self._said = io.StringIO()
        self.s3 = self.client("s3")
        self.models = PlaceholderModels(fleet, client=self.client, console=Console(file=self._said, width=200))

    def client(self, service: str) -> Any:
        return boto3.client(service, region_name="us-west-2")  # pyright: ignore

    @property
    def said(self) -> str:
        return self._said.getvalue()

    def keys(self, bucket: str) -> set[str]:
        return {each["Key"] for each in self.s3.list_objects_v2(Bucket=bucket).get("Contents", [])}


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "none")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "none")
    with mock_aws():
        yield


def requested(fleet: Fleet, name: str = "chat") -> dict[str, Any]:
    service = fleet.services[name]
    instance = neuron_instance(service.instance_type)
    assert instance is not None
    return dict(requested_of_model(service.server, service.model, instance))


@pytest.mark.parametrize("server", ["tgi", "hugging-face-vllm", "aws-vllm", "{kind: tgi, tensor_parallel: 1}"])
def test_the_check_of_the_deployment_finds_nothing(tmp_path: Path, server: str):
    wanted = requested(parse_fleet(edited("{kind: tgi, batch_size: 4}", server, MODEL, "s3://my-models/llama-3.2-1b")))
    for name, text in files_of(wanted).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert findings(wanted, Folder(str(tmp_path))) == []
    if wanted["layout"] == "optimum":
        compiled = json.loads((tmp_path / "neuron_config.json").read_text())
        (tmp_path / "neuron_config.json").write_text(json.dumps({**compiled, "batch_size": 9}))
        assert findings(wanted, Folder(str(tmp_path))) != [], "the check sees what it was compiled for"


def test_a_model_in_an_existing_bucket_is_uploaded_before_the_deployment():
    run = Bringing(load_fleet(EXAMPLE))
    assert not run.models.need_storage_first
    run.models.upload()
    assert {f"tanuki-8b/{name}" for name in files_of(requested(load_fleet(EXAMPLE)))} == run.keys("my-models")
    assert "s3://my-models/tanuki-8b/ now has a few bytes instead of your model" in run.said
    assert "2 cores of inf2, batches of 4 and sequences of 4096" in run.said


def test_an_existing_model_is_not_changed():
    run = Bringing(load_fleet(EXAMPLE))
    run.s3.create_bucket(Bucket="my-models", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    run.s3.put_object(Bucket="my-models", Key="tanuki-8b/config.json", Body=b"mine")
    run.models.upload()
    assert run.keys("my-models") == {"tanuki-8b/config.json"}
    assert "exists already" in run.said


def test_a_model_in_a_bucket_of_the_fleet_waits_for_its_storage():
    written, key, bucket = OWN
    run = Bringing(parse_fleet(edited(MODEL, written)))
    assert run.models.need_storage_first
    template = {
        "Resources": {"Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": bucket}}},
        "Outputs": {f"BucketName{key}": {"Value": {"Ref": "Bucket"}}},
    }
    run.client("cloudformation").create_stack(StackName="test-storage", TemplateBody=json.dumps(template))
    run.models.upload()
    assert "tanuki-8b/config.json" in run.keys(bucket)
