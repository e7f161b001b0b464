"""vLLM's settings and interface: what differs from TGI's."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from llm_fleet_local.serving.servers.command_words import SettingRefused
from llm_fleet_local.serving.servers.vllm_server import VllmServer
from llm_fleet_local.serving.servers.vllm_settings import VllmSettings, vllm_settings
from tests.local.serving.servers.conversation import Asker, asking

KEY = "k" * 16
HUGGING_FACE = [
    *("optimum-cli", "neuron", "serve", "--model", "/model", "--served-model-name", "chat", "--port", "8080"),
    *("--tensor_parallel_size", "2", "--batch_size", "4", "--sequence_length", "512"),
]
AWS = [
    *("vllm", "serve", "/model", "--served-model-name", "chat", "--port", "8080"),
    *("--tensor-parallel-size", "2", "--max-num-seqs", "4", "--max-model-len", "512"),
    *("--no-enable-prefix-caching", "--num-gpu-blocks-override", "4"),
]
COMPILED = {"NEURON_COMPILED_ARTIFACTS": "/var/cache/llm-fleet/compiled/1"}
PLUGIN = {"NEURON_SKIP_EFA_AFFINITY": "1"}
CHAT: dict[str, Any] = {"model": "chat", "messages": [{"role": "user", "content": "count to 3"}]}
SETTINGS = VllmSettings(model="/model", served_name="chat", port=8080, batch_size=2, sequence_length=50, api_key=KEY)


@pytest.mark.parametrize(("kind", "command"), [("hugging-face-vllm", HUGGING_FACE), ("aws-vllm", AWS)])
def test_both_images_accept_the_same_settings_in_their_own_form(kind: str, command: list[str]):
    settings = vllm_settings(kind, command, {"VLLM_API_KEY": KEY, "HF_HOME": "/x", **COMPILED})
    assert settings == VllmSettings(
        model="/model", served_name="chat", port=8080, batch_size=4, sequence_length=512, api_key=KEY
    )


@pytest.mark.parametrize(
    ("kind", "command", "environment"),
    [
        ("hugging-face-vllm", AWS, {}),
        ("aws-vllm", HUGGING_FACE, {}),
        ("aws-vllm", [*AWS, "--batch_size", "4"], COMPILED),
        ("aws-vllm", [*AWS, "--max-num-seqs", "0"], COMPILED),
        ("aws-vllm", [*AWS, "--port", "high"], COMPILED),
        ("hugging-face-vllm", HUGGING_FACE[:-2], {}),
        ("hugging-face-vllm", HUGGING_FACE[:3], {}),
        ("aws-vllm", AWS, {"API_KEY": KEY, **COMPILED}),
    ],
)
def test_settings_with_which_they_do_not_start_are_rejected(kind: str, command: list[str], environment: dict[str, str]):
    with pytest.raises(SettingRefused):
        vllm_settings(kind, command, environment)


@pytest.mark.parametrize(
    ("kind", "command", "environment", "said"),
    [
        ("aws-vllm", AWS[:-3], COMPILED, "block_size must be set"),
        ("aws-vllm", AWS[:-2], COMPILED, "must be exactly max_num_seqs, 4"),
        ("aws-vllm", [*AWS[:-1], "8"], COMPILED, "num_gpu_blocks_override is 8"),
        ("aws-vllm", AWS, {}, "Read-only file system: '/model/neuron-compiled-artifacts'"),
        ("aws-vllm-neuron", AWS[:-3], {}, "NEURON_SKIP_EFA_AFFINITY=1 is not set"),
    ],
)
def test_settings_with_which_the_aws_plugins_end(kind: str, command: list[str], environment: dict[str, str], said: str):
    with pytest.raises(SettingRefused, match=said):
        vllm_settings(kind, command, environment)


def test_settings_that_the_aws_plugins_accept():
    chunked = [*AWS[:-2], "--enable-chunked-prefill", "--num-gpu-blocks-override", "64"]
    cached = [*AWS[:-3], "--enable-prefix-caching", "--block-size", "32"]
    for command in (chunked, cached):
        assert vllm_settings("aws-vllm", command, COMPILED).batch_size == 4
    assert vllm_settings("aws-vllm-neuron", AWS[:-3], PLUGIN).batch_size == 4


def test_the_key_is_required_below_v1_only_and_the_model_must_be_the_served_one(tmp_path: Path):
    async def conversation(asker: Asker) -> None:
        for method, path, body in (("GET", "/v1/models", None), ("POST", "/v1/chat/completions", CHAT)):
            assert await asker.status(method, path, body) == 401
            assert await asker.status(method, path, body, key=KEY.upper()) == 401
            assert await asker.status(method, path, body, key=KEY) == 200
        assert await asker.status("POST", "/invocations", CHAT) == 200, "open, whatever the key"
        assert await asker.status("GET", "/metrics") == 200
        assert await asker.status("GET", "/v1%2Fmodels", key=KEY) == 200, "decoded before it is looked up"
        other = await asker.post("/v1/chat/completions", {**CHAT, "model": "tgi"}, Authorization=f"Bearer {KEY}")
        assert (other[0], json.loads(other[1])["error"]["type"]) == (404, "NotFoundError")
        long = await asker.post("/v1/completions", {"prompt": "x " * 60}, Authorization=f"Bearer {KEY}")
        assert (long[0], json.loads(long[1])["error"]["type"]) == (400, "BadRequestError")
        assert "However, your request has 61 input tokens. Please reduce the length of the input messages." in long[1]
        much = await asker.post("/v1/completions", {"prompt": "x", "max_tokens": 60}, Authorization=f"Bearer {KEY}")
        assert (much[0], "and your request has 1 input tokens (60 > 50 - 1)." in much[1]) == (400, True)
        large = {"prompt": "x" * 2_000_001, "max_tokens": 1}
        assert await asker.status("POST", "/v1/completions", large, key=KEY) == 200, "there is no limit in bytes"

    async def main() -> None:
        async with asking(VllmServer(SETTINGS, token_seconds=0.001), tmp_path) as asker:
            await conversation(asker)

    asyncio.run(main())


def test_requests_wait_for_capacity_and_are_not_rejected(tmp_path: Path):
    async def main() -> tuple[str, list[int]]:
        async with asking(VllmServer(SETTINGS, token_seconds=0.01), tmp_path) as asker:
            slow = {**CHAT, "messages": [{"role": "user", "content": "count to 20"}]}
            posts = [
                asyncio.ensure_future(asker.post("/v1/chat/completions", slow, Authorization=f"Bearer {KEY}"))
                for _ in range(5)
            ]
            await asyncio.sleep(0.05)
            metrics = (await asker.get("/metrics"))[1]
            return metrics, [(await post)[0] for post in posts]

    metrics, statuses = asyncio.run(main())
    labels = '{engine="0",model_name="chat"}'
    assert f"vllm:num_requests_running{labels} 2\n" in metrics
    assert f"vllm:num_requests_waiting{labels} 3\n" in metrics
    assert statuses == [200] * 5


def test_at_shutdown_streams_get_an_error_and_no_last_token(tmp_path: Path):
    async def main() -> str:
        server = VllmServer(SETTINGS, token_seconds=0.01)
        async with asking(server, tmp_path) as asker:
            slow = {**CHAT, "stream": True, "messages": [{"role": "user", "content": "count to 40"}]}
            post = asyncio.ensure_future(asker.post("/v1/chat/completions", slow, Authorization=f"Bearer {KEY}"))
            await asyncio.sleep(0.1)
            server.end()
            return (await post)[1]

    text = asyncio.run(main())
    assert '"content":" 1"' in text
    assert "InternalServerError" in text
    assert '"content":" 40"' not in text
