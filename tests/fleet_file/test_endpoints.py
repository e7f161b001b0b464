"""Endpoints of the fleet file: short forms, derived values, and each error at its key with its remedy."""

import pytest

from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.spec.endpoint import EndpointImageKind, EndpointModelSource
from tests.fleet_file.good_endpoint import INSTANCE, MODEL, edited, endpoint, problems

AT = "endpoints.gpt-j"
KEY = "'arn:aws:kms:us-west-2:111122223333:key/01234567-89ab-cdef-0123-456789abcdef'"
TARBALL = "s3://my-models/model.tar.gz"
INF2 = "instance: ml.inf2.xlarge"
TUTORIAL = "s3://huggingface-sagemaker-models/transformers/4.12.3/pytorch/1.9.1/gpt-j/model.tar.gz"


def test_the_unedited_file_is_valid() -> None:
    assert problems() == ()


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("model: EleutherAI/gpt-j-6b", "model: {hub: EleutherAI/gpt-j-6b}"),
        ("model: s3://my-models/gpt-j/", "model: {s3: s3://my-models/gpt-j/}"),
        (f"model: {TARBALL}", f"model: {{tarball: {TARBALL}}}"),
        (f"{MODEL}\n    image: tgi", f"{MODEL}\n    image: {{kind: tgi}}"),
        (
            f"{MODEL}\n    image: 123456789012.dkr.ecr.us-west-2.amazonaws.com/mine:1",
            f"{MODEL}\n    image: {{uri: '123456789012.dkr.ecr.us-west-2.amazonaws.com/mine:1'}}",
        ),
    ],
)
def test_short_forms_are_equivalent_to_long_forms(short: str, long: str) -> None:
    assert endpoint(MODEL, short) == endpoint(MODEL, long)


def test_locations_of_the_model() -> None:
    assert endpoint().model.source is EndpointModelSource.HUB
    assert endpoint(MODEL, f"model: {TARBALL}").model.source is EndpointModelSource.TARBALL
    own = endpoint(MODEL, "model: {bucket: models, key: gpt-j/model.tar.gz}").model
    assert own.on(None).source is EndpointModelSource.TARBALL
    assert own.on({"models": ("our-models", "arn:key")}).location == "s3://our-models/gpt-j/model.tar.gz"


def test_units_are_converted_and_kinds_are_set() -> None:
    parsed = endpoint(
        *(MODEL, "model: {s3: s3://my-models/gpt-j/, parameters: 6 B}"),
        *(INSTANCE, f"{INF2}\n    volume: 100 GiB\n    start_time: 900 s\n    logs: 7 days\n    image: tgi"),
    )
    assert (parsed.model.parameters, parsed.volume_gib, parsed.startup_timeout_seconds) == (
        6_000_000_000,
        100,
        900,
    )
    assert (parsed.log_retention_days, parsed.image.kind) == (7, EndpointImageKind.TGI)


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ((), False),
        (("network: none", "network: {azs: [usw2-az1]}"), True),
        (("network: none", "network: {azs: [usw2-az1]}", INSTANCE, f"{INSTANCE}\n    network: false"), False),
    ],
)
def test_it_is_in_the_fleets_network_if_the_file_has_one(edits: tuple[str, ...], expected: bool) -> None:
    fleet = parse_fleet(edited(*edits))
    endpoint = fleet.endpoints["gpt-j"]
    assert endpoint.in_fleet(fleet.name).name == "test-gpt-j"
    assert endpoint.is_in_network(fleet_has_one=fleet.network is not None) is expected


BAD = {
    "no location": (("model: EleutherAI/gpt-j-6b", "model: {task: x}"), "LF111", "model", "hub:"),
    "two locations": ((MODEL, "model: {hub: a/b, s3: s3://my-models/x/}"), "LF117", "model.s3", "remove one"),
    "an unknown bucket": ((MODEL, "model: {bucket: model, key: x/}"), "LF119", "model.bucket", "models"),
    "a key alone": ((MODEL, "model: {hub: a/b, key: x/}"), "LF117", "model.key", "write both"),
    "a bucket alone": ((MODEL, "model: {bucket: models}"), "LF117", "model.bucket", "write both"),
    "a key of the fleet's bucket": (
        (MODEL, f"model: {{bucket: models, key: x/, encryption_key: {KEY}}}"),
        "LF117",
        "model.encryption_key",
        "remove",
    ),
    "a token": ((MODEL, "model: {hub: a/b, token: x}"), "LF110", "model.token", "copy a gated model"),
    "a token in the environment": (
        (INSTANCE, f"{INSTANCE}\n    environment: {{HF_TOKEN: hf_x}}"),
        "LF931",
        "environment.HF_TOKEN",
        "s3://",
    ),
    "an invalid id": ((MODEL, "model: {hub: gpt-j}"), "LF930", "model.hub", "owner/name"),
    "an invalid archive": (
        (MODEL, "model: {tarball: s3://my-models/x.zip}"),
        "LF930",
        "model.tarball",
        "tar -czf",
    ),
    "the tutorial's archive": ((MODEL, f"model: {TUTORIAL}"), "LF932", "model.tarball", "float16"),
    "the tutorial's image": (
        (INSTANCE, f"{INSTANCE}\n    image: {{kind: hugging-face, version: 4.12.3}}"),
        "LF934",
        "image.version",
        "5.5.3",
    ),
    "a retired instance": ((INSTANCE, "instance: ml.p3.2xlarge"), "LF901", "instance", "ml.g5.xlarge"),
    "an instance without its prefix": ((INSTANCE, "instance: g4dn.xlarge"), "LF902", "instance", "ml.g4dn.xlarge"),
    "a model too large": ((MODEL, "model: {hub: a/b, parameters: 70 B}"), "LF938", "instance", "larger"),
    "a volume with local disks": (
        (INSTANCE, f"{INSTANCE}\n    volume: 100 GiB"),
        "LF939",
        "volume",
        "remove the volume size",
    ),
    "an AMI too old": (
        (INSTANCE, f"{INSTANCE}\n    ami: al2-ami-sagemaker-inference-gpu-2"),
        "LF936",
        "ami",
        "remove it",
    ),
    "a download timeout for the Hub": (
        (INSTANCE, f"{INSTANCE}\n    download_time: 600 s"),
        "LF937",
        "download_time",
        "`start_time`",
    ),
    "isolated from the Hub": ((INSTANCE, f"{INSTANCE}\n    isolated: true"), "LF941", "isolated", "s3://"),
    "a closed network": (
        ("network: none", "network: {azs: [usw2-az1], internet: none}"),
        "LF759",
        "model.hub",
        "NAT",
    ),
    "a network in a fleet without one": (
        (INSTANCE, f"{INSTANCE}\n    network: true"),
        "LF903",
        "network",
        "azs: [usw2-az1, usw2-az2]",
    ),
    "a retention that CloudWatch Logs does not support": (
        (INSTANCE, f"{INSTANCE}\n    logs: 31 days"),
        "LF937",
        "logs",
        "30",
    ),
    "settings without Neuron": ((INSTANCE, f"{INSTANCE}\n    neuron: {{cores: 2}}"), "LF940", "neuron", "inf2"),
    "a name too long": (("  gpt-j:", f"  {'n' * 60}:"), "LF900", "", "short name"),
    "a key of another tool": ((INSTANCE, f"{INSTANCE}\n    instances: 2"), "LF110", "instances", "write `count`"),
}


@pytest.mark.parametrize(("edits", "code", "where", "words"), BAD.values(), ids=BAD)
def test_each_error_is_reported_once_at_its_key(edits: tuple[str, ...], code: str, where: str, words: str) -> None:
    (problem,) = problems(*edits)
    assert problem.code.value == code, str(problem)
    place = AT if where or "nnn" not in edits[1] else f"endpoints.{edits[1].strip(' :')}"
    assert problem.where == (f"{place}.{where}" if where else place)
    assert words in problem.remedy
