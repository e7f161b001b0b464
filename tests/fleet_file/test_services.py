"""Inference services of the fleet file: short forms, defaults, and derived values."""

import json
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.fleet_file.load import load_fleet, parse_fleet
from llm_fleet.rules.inference.service import check_scaling
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.model_shape import Model, ModelSource
from llm_fleet.spec.service import Capacity, ServiceSpec
from tests.fleet_file.good_service import GOOD, MODEL, edited, problems, service

COUNT = "count: 2"


def test_the_unedited_file_is_valid():
    assert problems() == ()


def test_short_forms_are_equivalent_to_long_forms():
    topic = "arn:aws:sns:us-west-2:111122223333:pager"
    short = service("{kind: tgi, batch_size: 4}", "hugging-face-vllm", COUNT, f"hosts: ec2\n    alarms: {topic}")
    long = service(
        *(MODEL, f"{{s3: {MODEL}}}", "{kind: tgi, batch_size: 4}", "{kind: hugging-face-vllm}"),
        *(COUNT, f"hosts: {{capacity: ec2}}\n    alarms: {{topic: {topic}}}"),
    )
    assert short == long


@pytest.mark.parametrize(
    ("written", "source", "compiled"),
    [
        ("s3://my-models/tanuki-8b", ModelSource.S3, True),
        ("weblab-GENIAC/Tanuki-8B-dpo-v1.0", ModelSource.HUB, False),
        ("/models/tanuki-8b", ModelSource.IMAGE, True),
        ("{bucket: data, prefix: tanuki-8b}", ModelSource.S3, True),
        ("{hub: owner/tanuki-8b, compiled: true}", ModelSource.HUB, True),
    ],
)
def test_the_location_of_a_model_is_read_from_its_text(written: str, source: ModelSource, compiled: bool):
    model = service(MODEL, written, "inf2.xlarge", "inf2.8xlarge").model
    assert (model.source, model.is_compiled) == (source, compiled)
    assert model.size is not None, "its size is derived from its name"


def test_the_default_server_is_tgi():
    assert service("kind: tgi, ", "").server.kind is ServerKind.TGI


@pytest.mark.parametrize(
    ("written", "arguments", "tasks"),
    [
        ("min: 3\n    max: 6", {"minimum": 3, "maximum": 6}, (3, 3, 6)),
        ("max: 6", {"maximum": 6}, (2, 2, 6)),
        ("max: 1", {"maximum": 1}, (1, 1, 1)),
        ("min: 3", {"minimum": 3}, (3, 3, 3)),
        ("min: 1", {"minimum": 1}, (2, 1, 2)),
    ],
)
def test_minimum_and_maximum_without_a_count_are_the_same_in_the_file_and_in_python(
    written: str, arguments: dict[str, Any], tasks: tuple[int, int, int]
):
    """Once only the file rejected `min: 3, max: 6`, because of a default `count` of 2 (LF771)."""
    of_file = service(COUNT, written)
    in_python = ServiceSpec(model=Model(s3_uri=MODEL), instance_type="inf2.xlarge", **arguments)
    for spec in (of_file, in_python):
        assert check_scaling(spec) == []
        assert (spec.tasks.desired, spec.tasks.minimum, spec.tasks.maximum) == tasks


def test_settings_are_the_written_ones():
    written = service("batch_size: 4", "payload_limit: 1 MiB, max_concurrent_requests: 8")
    assert written.server.settings == {"payload_limit_bytes": 1024 * 1024, "max_concurrent_requests": 8}


def test_managed_hosts_install_no_driver():
    fleet = parse_fleet(edited(COUNT, "hosts: managed-instances", MODEL, "/models/tanuki-8b"))
    hosts = fleet.services["chat"].hosts
    assert (hosts.capacity, hosts.installs_driver) == (Capacity.MANAGED_INSTANCES, False)


@pytest.mark.parametrize(
    ("model", "own"),
    [
        ("s3://our-models/tanuki-8b", ("models", "tanuki-8b")),
        ("{bucket: models, prefix: a/tanuki-8b}", ("models", "a/tanuki-8b")),
        ("{bucket: data, prefix: tanuki-8b}", ("data", "tanuki-8b")),
        (MODEL, None),
        ("{hub: our-models/tanuki-8b}", None),
    ],
)
def test_a_bucket_of_the_fleet_is_found_by_key_and_by_name(model: str, own: tuple[str, str] | None):
    fleet = parse_fleet(edited(MODEL, model, "inf2.xlarge", "inf2.8xlarge"))
    assert fleet.services["chat"].model.own_bucket(fleet.storage.buckets) == own


def test_the_model_size_is_read_from_a_config_file(tmp_path: Path):
    shape = {"hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64}
    config = {**shape, "model_type": "llama", "num_key_value_heads": 8, "vocab_size": 32000}
    (tmp_path / "llama.json").write_text(json.dumps(config))
    edits = (MODEL, "{s3: s3://my-models/own, config: llama.json}")
    (problem,) = problems(*edits, directory=tmp_path)
    assert (problem.code.value, problem.where) == ("LF720", "services.chat.instance"), "it is a model of 70B"
    assert problems(*edits) == (), "without a directory nothing is looked for"
    (tmp_path / "llama.json").unlink()
    (problem,) = problems(*edits, directory=tmp_path)
    assert (problem.code.value, problem.where) == ("LF718", "services.chat.model.config")


def test_paths_are_relative_to_the_file(tmp_path: Path):
    (tmp_path / "fleet.yaml").write_text(edited(MODEL, "{s3: s3://my-models/own, config: nowhere.json}"))
    with pytest.raises(Exception, match="cannot be read"):
        load_fleet(tmp_path / "fleet.yaml")


def test_the_name_of_a_service_contains_the_fleets_name():
    fleet = parse_fleet(GOOD)
    assert fleet.services["chat"].in_fleet(fleet.name, fleet.storage.buckets).name == "test-chat"
