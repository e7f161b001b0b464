"""Bodies that are JSON but no request: each server rejects them in its own format, and continues to run."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from llm_fleet_local.serving.servers.http_server import HttpServer
from llm_fleet_local.serving.servers.tgi_server import TgiServer
from llm_fleet_local.serving.servers.tgi_settings import tgi_settings
from llm_fleet_local.serving.servers.vllm_server import VllmServer
from llm_fleet_local.serving.servers.vllm_settings import VllmSettings
from tests.local.serving.servers.conversation import Asker, asking
from tests.local.serving.templates import TGI_ENVIRONMENT

TURNS = [{"role": "user", "content": "count to 3"}]
CHATS: list[tuple[Any, str]] = [
    ({}, "missing field `messages`"),
    ({"messages": "x"}, "messages: expected a list"),
    ({"messages": None}, "messages: expected a list"),
    ({"messages": [1]}, "messages[0]: expected an object"),
    ({"messages": [{"content": "x"}]}, "messages[0].role: expected a text"),
    ({"messages": [{"role": "user", "content": 1}]}, "messages[0].content: expected a list"),
    ({"messages": [{"role": "user", "content": [1]}]}, "messages[0].content[0]: expected an object"),
    ({"messages": [{"role": "user", "content": [{"text": 1}]}]}, "messages[0].content[0].text: expected a text"),
    ({"messages": TURNS, "max_tokens": "a"}, "max_tokens: expected a number of tokens"),
    ({"messages": TURNS, "max_tokens": -1}, "max_tokens: expected a number of tokens"),
    ({"messages": TURNS, "max_completion_tokens": True}, "max_completion_tokens: expected a number of tokens"),
    ({"messages": TURNS, "model": 1}, "model: expected a text"),
    ({"messages": TURNS, "stream": "x"}, "stream: expected true or false"),
    ({"messages": TURNS, "stream": True, "stream_options": 0}, "stream_options: expected an object"),
]
COMPLETIONS: list[tuple[Any, str]] = [
    ({}, "missing field `prompt`"),
    ({"prompt": None}, "prompt: expected a list"),
    ({"prompt": ["x", 1]}, "prompt[1]: expected a text"),
]
TGI_ONLY: list[tuple[str, Any, str]] = [
    ("/generate", {"inputs": 1}, "inputs: expected a text"),
    ("/generate", {"inputs": "x", "parameters": 1}, "parameters: expected an object"),
    ("/generate_stream", {"inputs": "x", "parameters": {"max_new_tokens": -1}}, "max_new_tokens: expected a number"),
    ("/tokenize", {"inputs": 1}, "inputs: expected a text"),
    ("/chat_tokenize", {"messages": "x"}, "messages: expected a list"),
    ("/invocations", {}, "missing field `inputs`"),
]
VLLM_ONLY: list[tuple[str, Any, str]] = [
    ("/v1/completions", {"prompt": []}, "prompt: expected at least one"),
    ("/v1/chat/completions", {"messages": TURNS, "max_tokens": 0}, "max_tokens must be at least 1, got 0."),
    ("/tokenize", {"prompt": 1}, "prompt: expected a text"),
]
BOTH = [("/v1/chat/completions", *item) for item in CHATS] + [("/v1/completions", *item) for item in COMPLETIONS]


def tgi() -> TgiServer:
    return TgiServer(tgi_settings([], TGI_ENVIRONMENT), token_seconds=0.001)


def vllm() -> VllmServer:
    settings = VllmSettings(
        model="/model", served_name="chat", port=8080, batch_size=2, sequence_length=50, api_key=None
    )
    return VllmServer(settings, token_seconds=0.001)


def answers(server: HttpServer, requested: list[tuple[str, Any, str]], folder: Path) -> list[tuple[int, str]]:
    async def main() -> list[tuple[int, str]]:
        async with asking(server, folder) as asker:
            return [await asker.post(path, body) for path, body, _ in requested]

    return asyncio.run(main())


def test_tgi_answers_422_with_what_is_wrong(tmp_path: Path):
    requested = BOTH + TGI_ONLY
    for (path, body, said), (status, text) in zip(requested, answers(tgi(), requested, tmp_path), strict=True):
        assert (status, text.startswith("Failed to deserialize the JSON body")) == (422, True), (path, body, text)
        assert said in text, (path, body)


def test_vllm_answers_400_in_the_form_of_openai(tmp_path: Path):
    requested = BOTH + VLLM_ONLY
    for (path, body, said), (status, text) in zip(requested, answers(vllm(), requested, tmp_path), strict=True):
        assert status == 400, (path, body)
        assert json.loads(text)["error"]["message"] == said, (path, body)


@pytest.mark.parametrize("server", [tgi, vllm])
def test_json_that_is_too_deep_or_none_is_400(server: Any, tmp_path: Path):
    deep = '{"messages":' + "[" * 100_000 + "]" * 100_000 + "}"

    async def conversation(asker: Asker) -> list[int]:
        headers = {"Content-Type": "application/json"}
        return [await asker.post_text("/v1/chat/completions", text, **headers) for text in (deep, "{")]

    async def main() -> list[int]:
        async with asking(server(), tmp_path) as asker:
            return await conversation(asker)

    assert asyncio.run(main()) == [400] * 2
