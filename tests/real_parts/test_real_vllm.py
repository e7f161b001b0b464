"""A real vLLM, on CPUs, with the listener rules of a synthesized service: the settings that it accepts, its answers.

The command is that of the template, with two changes: a socket instead of the port, and a folder instead of the mounted
model. It is not AWS's build, and does not contain Neuron.
"""

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import aws_cdk as cdk
import openai
import pytest
from aws_cdk.assertions import Template

from llm_fleet import AwsVllmServer, FleetNetwork, Front, InferenceService, Model, ServiceSpec, shape_from_config
from llm_fleet.spec.network import NetworkSpec
from llm_fleet_local.serving.local_service import LocalService
from llm_fleet_local.serving.template.service import ServerContainer
from tests.conftest import ENVIRONMENT
from tests.contract.clients import client, collector_scrape, get_from_task, send, user
from tools.synth_environment import ROOT, cdk_context

START_SECONDS = 600.0
NAME = "chat"


@pytest.fixture(scope="module")
def template() -> str:
    stack = cdk.Stack(cdk.App(context=cdk_context()), "Real", env=ENVIRONMENT)
    shape = shape_from_config(ROOT / "examples/tiny-llama.json")
    spec = ServiceSpec(
        name=NAME,
        model=Model(s3_uri="s3://my-models/tiny-llama", shape=shape),
        # A CPU is one device; the length is the maximum of the tiny model.
        server=AwsVllmServer(tensor_parallel=1, batch_size=4, sequence_length=256),
        instance_type="inf2.xlarge",
        desired=1,
        front=Front(plain_http=True),
        neuron_health=False,
    )
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az1", "usw2-az4"]))
    InferenceService(stack, "Chat", spec, network=network)
    return json.dumps(Template.from_stack(stack).to_json())


@pytest.fixture(scope="module")
def served(vllm: Path, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalService]:
    folder = tmp_path_factory.mktemp("vllm")
    maker = ROOT / "tools/real_vllm/tiny_model.py"
    subprocess.run([vllm / "python", maker, ROOT / "examples/tiny-llama.json", folder / "model"], check=True)

    def program(container: ServerContainer, socket: Path) -> Sequence[str]:
        words = [*container.entry_point, *container.command]
        assert words[:3] == ["vllm", "serve", "/model"]
        port = words.index("--port")
        words[port : port + 2] = ["--uds", str(socket)]
        own = [f"{name}={folder}" for name in ("HF_HOME", "VLLM_CACHE_ROOT", "XDG_CACHE_HOME", "HOME")]
        more = ["VLLM_CPU_KVCACHE_SPACE=1", f"PATH={vllm}:/usr/bin:/bin"]
        # Compiling for this CPU takes minutes and does not change what is tested.
        return ["env", *own, *more, str(vllm / "vllm"), "serve", str(folder / "model"), *words[3:], "--enforce-eager"]

    with LocalService(template, time_scale=0.01, program=program, start_seconds=START_SECONDS) as service:
        yield service


def test_it_starts_with_the_command_of_the_template_and_answers_openais_client(served: LocalService):
    answer = client(served).chat.completions.create(model=NAME, messages=user("hi"), max_tokens=5)
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 5
    assert [one.id for one in client(served).models.list()] == [NAME]


def test_it_streams_token_by_token(served: LocalService):
    stream = client(served).chat.completions.create(
        model=NAME, messages=user("hi"), max_tokens=8, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 8
    assert sum(bool(chunk.choices) for chunk in chunks) > 1


def test_it_rejects_a_wrong_key_another_model_and_a_prompt_that_is_too_long(served: LocalService):
    with pytest.raises(openai.AuthenticationError):
        client(served, "another key").chat.completions.create(model=NAME, messages=user("hi"))
    with pytest.raises(openai.NotFoundError):
        client(served).chat.completions.create(model="another", messages=user("hi"))
    with pytest.raises(openai.BadRequestError):
        client(served).chat.completions.create(model=NAME, messages=user("a" * 300))


@pytest.mark.parametrize("path", ["/metrics", "/invocations", "/docs", "/version"])
def test_internal_paths_are_404_from_the_load_balancer(served: LocalService, path: str):
    assert send(served.url, "GET", path, key=served.api_key)[0] == 404


def test_it_has_the_metrics_that_the_collector_keeps(served: LocalService, template: str):
    client(served).chat.completions.create(model=NAME, messages=user("hi"), max_tokens=3)
    scrape = collector_scrape(template, NAME)
    names = [
        line.partition(" ")[0].partition("{")[0] for line in get_from_task(served.tasks[0], scrape["metrics_path"])
    ]
    kept = scrape["metric_relabel_configs"][0]["regex"].split("|")
    assert [name for name in kept if not any(re.fullmatch(name, series) for series in names)] == []
