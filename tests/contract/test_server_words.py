"""A model server's program accepts each setting of its spec: one setting at a time."""

from collections.abc import Iterator
from typing import Any

import pytest

from llm_fleet import AwsVllmNeuronServer, AwsVllmServer, HuggingFaceVllmServer, Model, TgiServer
from llm_fleet.catalog.model_server import ServerSetting, server_settings
from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.inference.server import ServerProcess, server_process
from llm_fleet.spec.model_server import ServerKind
from llm_fleet_local.serving.servers.command_words import SettingRefused
from llm_fleet_local.serving.servers.tgi_settings import TgiSettings, tgi_settings
from llm_fleet_local.serving.servers.vllm_settings import VllmSettings, vllm_settings
from llm_fleet_local.serving.tasks.images import kind_of_image

MODEL = Model(s3_uri="s3://my-models/tanuki-8b")
INSTANCES = {ServerKind.AWS_VLLM_NEURON: "trn2.3xlarge"}
MAKERS: dict[ServerKind, Any] = {
    ServerKind.TGI: TgiServer,
    ServerKind.HUGGING_FACE_VLLM: HuggingFaceVllmServer,
    ServerKind.AWS_VLLM: AwsVllmServer,
    ServerKind.AWS_VLLM_NEURON: AwsVllmNeuronServer,
}
EXAMPLES: dict[str, Any] = {
    "boolean": True,
    "text": "something",
    "number": 1.5,
    "json": {"override": {"flash_decoding": True}},
    "list": ["--seed", "7"],
}


def values_of(setting: ServerSetting) -> list[Any]:
    if setting.name == "max_batch_prefill_tokens":
        return [8192]
    if setting.type == "integer":
        return [int(setting.maximum or (setting.minimum or 0) + 2000)]
    return list(setting.choices) or [EXAMPLES[setting.type]]


def every_setting() -> Iterator[tuple[ServerKind, str, Any]]:
    for kind in ServerKind:
        yield from ((kind, name, value) for name, item in server_settings(kind).items() for value in values_of(item))


def process(kind: ServerKind, **settings: Any) -> ServerProcess:
    instance = neuron_instance(INSTANCES.get(kind, "inf2.xlarge"))
    assert instance is not None
    return server_process(
        MAKERS[kind](batch_size=4, sequence_length=4096, **settings),
        instance=instance,
        model=MODEL,
        model_path="/model",
        served_name="chat",
        region="us-west-2",
        idle_timeout_seconds=600,
    )


def read(started: ServerProcess) -> TgiSettings | VllmSettings:
    """The settings as the program parses them. Raises `SettingRefused`."""
    words = (*started.entry_point, *started.command)
    environment = {**started.environment, started.api_key_variable: "key", started.hub_token_variable: "token"}
    kind = kind_of_image(started.image)
    return tgi_settings(words, environment) if kind == "tgi" else vllm_settings(kind, words, environment)


@pytest.mark.parametrize("kind", list(ServerKind))
def test_the_program_reads_the_default_settings(kind: ServerKind):
    settings = read(process(kind))
    assert (settings.port, settings.api_key) == (8080, "key")
    if isinstance(settings, TgiSettings):
        assert (settings.max_batch_size, settings.max_total_tokens) == (4, 4096)
        assert settings.model_id == "/model"
    else:
        assert (settings.batch_size, settings.sequence_length) == (4, 4096)
        assert (settings.model, settings.served_name) == ("/model", "chat")


@pytest.mark.parametrize(("kind", "name", "value"), list(every_setting()))
def test_the_program_accepts_each_setting(kind: ServerKind, name: str, value: Any):
    read(process(kind, **{name: value}))


def test_the_program_reads_the_values_of_settings():
    settings = read(process(ServerKind.TGI, max_input_tokens=3000, max_concurrent_requests=9, max_client_batch_size=7))
    assert isinstance(settings, TgiSettings)
    assert (settings.max_input_tokens, settings.max_concurrent_requests) == (3000, 9)
    assert settings.max_client_batch_size == 7


def test_unknown_arguments_are_rejected_at_the_start():
    with pytest.raises(SettingRefused, match="--tensor-parallelism"):
        read(process(ServerKind.AWS_VLLM, extra_arguments=["--tensor-parallelism", "2"]))
