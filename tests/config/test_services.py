"""Inference services of the fleet file: short forms, defaults, and what is worked out."""

import json
from pathlib import Path

import pytest

from llm_fleet.catalog.model_server import server_settings
from llm_fleet.config.load import load_fleet, parse_fleet
from llm_fleet.config.services.own_bucket import own_bucket
from llm_fleet.config.services.server import ServerConfig
from llm_fleet.config.services.servers import (
    AwsVllmNeuronServerConfig,
    AwsVllmServerConfig,
    HuggingFaceVllmServerConfig,
    TgiServerConfig,
)
from llm_fleet.config.services.view import ServiceView
from llm_fleet.inference.alarm_thresholds import AlarmThresholds
from llm_fleet.inference.ec2_hosts import Ec2Hosts
from llm_fleet.inference.front import Front
from llm_fleet.inference.model_server import ModelServer
from llm_fleet.inference.scaling import Scaling
from llm_fleet.rules.inference.terms import Capacity, ModelSource, ServerKind
from tests.config.good_service import GOOD, MODEL, edited, problems, service

COUNT = "count: 2"
SERVERS: dict[ServerKind, type[ServerConfig]] = {
    ServerKind.TGI: TgiServerConfig,
    ServerKind.HUGGING_FACE_VLLM: HuggingFaceVllmServerConfig,
    ServerKind.AWS_VLLM: AwsVllmServerConfig,
    ServerKind.AWS_VLLM_NEURON: AwsVllmNeuronServerConfig,
}


def test_the_file_of_these_tests_is_good():
    assert problems() == ()


def test_short_forms_are_long_ones():
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
def test_a_model_is_where_its_text_says(written: str, source: ModelSource, compiled: bool):
    model = service(MODEL, written, "inf2.xlarge", "inf2.8xlarge").model
    assert (model.source, model.compiled) == (source, compiled)
    assert model.shape is not None, "its name tells how large it is"


def test_a_server_without_a_kind_is_tgi():
    assert service("kind: tgi, ", "").server.kind is ServerKind.TGI


def test_defaults_are_the_constructs():
    """What a file leaves out is what a stack of one's own leaves out."""
    made = ServiceView(
        config=service("    count: 2\n", "", "{kind: tgi, batch_size: 4}", "tgi"), fleet=parse_fleet(GOOD)
    )
    front, scaling = Front(plain_http=True), Scaling()
    assert {name: getattr(made.front, name) for name in Front.__slots__} == {
        name: getattr(front, name) for name in Front.__slots__
    }
    assert {name: getattr(made.scaling, name) for name in Scaling.__slots__} == {
        name: getattr(scaling, name) for name in Scaling.__slots__
    }
    hosts = Ec2Hosts(instance_type="inf2.xlarge")
    for name in (*Ec2Hosts.__slots__, "capacity"):
        assert getattr(made.hosts, name) == getattr(hosts, name), name
    server = ModelServer.tgi()
    sizes = ("tensor_parallel", "batch_size", "sequence_length")
    for name in ("kind", *sizes, "image", "runtime_version", "capabilities", "settings"):
        assert getattr(made.server, name) == getattr(server, name), name
    for name in AlarmThresholds.__slots__:
        assert getattr(made.config.alarms, name) == getattr(AlarmThresholds(), name), name


@pytest.mark.parametrize("kind", SERVERS)
def test_a_server_has_all_its_settings_and_no_others(kind: ServerKind):
    own = set(SERVERS[kind].model_fields) - set(ServerConfig.model_fields) - {"kind"}
    assert own == set(server_settings(kind))


def test_settings_are_what_was_written():
    written = service("batch_size: 4", "payload_limit: 1 MiB, max_concurrent_requests: 8")
    assert written.server.settings == {"payload_limit_bytes": 1024 * 1024, "max_concurrent_requests": 8}


def test_managed_hosts_install_no_driver():
    fleet = parse_fleet(edited(COUNT, "hosts: managed-instances", MODEL, "/models/tanuki-8b"))
    hosts = ServiceView(config=fleet.services["chat"], fleet=fleet).hosts
    assert (hosts.capacity, hosts.install_driver) == (Capacity.MANAGED_INSTANCES, False)


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
def test_the_fleets_own_bucket_is_known_by_key_and_by_name(model: str, own: tuple[str, str] | None):
    fleet = parse_fleet(edited(MODEL, model, "inf2.xlarge", "inf2.8xlarge"))
    assert own_bucket(fleet.services["chat"].model, fleet) == own


def test_a_config_on_disk_says_how_large_a_model_is(tmp_path: Path):
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


def test_relative_paths_begin_where_the_file_lies(tmp_path: Path):
    (tmp_path / "fleet.yaml").write_text(edited(MODEL, "{s3: s3://my-models/own, config: nowhere.json}"))
    with pytest.raises(Exception, match="cannot be read"):
        load_fleet(tmp_path / "fleet.yaml")


def test_two_fleets_may_have_a_service_of_one_name():
    fleet = parse_fleet(GOOD)
    assert ServiceView(config=fleet.services["chat"], fleet=fleet).name == "test-chat"
