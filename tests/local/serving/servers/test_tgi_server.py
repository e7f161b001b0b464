"""TGI's interface, called without the load balancer: paths that it must protect, and others.

Also settings that TGI's launcher accepts and rejects.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from llm_fleet_local.serving.servers.command_words import SettingRefused
from llm_fleet_local.serving.servers.tgi_generation import TgiGenerator
from llm_fleet_local.serving.servers.tgi_server import TgiServer
from llm_fleet_local.serving.servers.tgi_settings import tgi_settings
from tests.local.serving.servers.conversation import Asker, asking
from tests.local.serving.templates import TGI_ENVIRONMENT

_T = TypeVar("_T")
KEY = "0123456789abcdef"
CHAT: dict[str, Any] = {"messages": [{"role": "user", "content": "count to 3"}]}
GENERATE = {"inputs": "count to 3"}
BODIES: dict[str, Any] = {"/v1/completions": {"prompt": "x"}, "/v1/chat/completions": CHAT, "/chat_tokenize": CHAT}
GUARDED = ["/", "/generate", "/generate_stream", "/v1/chat/completions", "/v1/completions", "/invocations", "/tokenize"]
OPEN = ["/", "/health", "/ping", "/info", "/metrics", "/v1/models", "/docs", "/api-doc/openapi.json"]


def server(**changed: str) -> TgiServer:
    settings = tgi_settings([], {**TGI_ENVIRONMENT, "API_KEY": KEY, **changed})
    return TgiServer(settings, token_seconds=0.001)


def ask(folder: Path, conversation: Callable[[Asker], Awaitable[_T]], **changed: str) -> _T:
    async def main() -> _T:
        async with asking(server(**changed), folder) as asker:
            return await conversation(asker)

    return asyncio.run(main())


def events(text: str) -> list[Any]:
    data = [line.removeprefix("data: ") for line in text.splitlines() if line]
    return [item if item == "[DONE]" else json.loads(item) for item in data]


def test_the_key_is_required_for_generation_only(tmp_path: Path):
    async def conversation(asker: Asker) -> None:
        for path in GUARDED:
            body = BODIES.get(path, GENERATE)
            assert await asker.status("POST", path, body) == 401, path
            assert await asker.status("POST", path, body, key="other") == 401, path
            assert await asker.status("POST", path, body, key=KEY) == 200, path
        for path in OPEN:
            assert await asker.status("GET", path) == 200, path
        assert await asker.status("POST", "/chat_tokenize", CHAT) == 200

    ask(tmp_path, conversation)


def test_the_key_is_compared_case_insensitively(tmp_path: Path):
    assert ask(tmp_path, lambda asker: asker.status("POST", "/generate", GENERATE, key=KEY.upper())) == 200


@pytest.mark.parametrize("path", ["/v1/../metrics", "//metrics", "/metrics/", "/Metrics", "/v1%2Fmodels", "/v1"])
def test_other_spellings_of_a_path_are_other_paths(tmp_path: Path, path: str):

    assert ask(tmp_path, lambda asker: asker.status("GET", path)) == 404


def test_a_wrong_method_is_405(tmp_path: Path):
    assert ask(tmp_path, lambda asker: asker.status("GET", "/generate", key=KEY)) == 405


def test_a_stream_has_one_chunk_per_token_then_usage_then_done(tmp_path: Path):
    body = {**CHAT, "stream": True, "stream_options": {"include_usage": True}}
    status, text = ask(tmp_path, lambda asker: asker.post("/v1/chat/completions", body, Authorization=f"Bearer {KEY}"))
    *chunks, counted, done = events(text)
    assert (status, done) == (200, "[DONE]")
    assert [chunk["choices"][0]["delta"]["content"] for chunk in chunks] == [" 1", " 2", " 3"]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None, None, "stop"]
    assert counted["choices"] == []
    assert counted["usage"] == {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}


def test_a_generate_stream_has_the_whole_text_in_its_last_event(tmp_path: Path):
    _, text = ask(tmp_path, lambda asker: asker.post("/generate_stream", GENERATE, Authorization=f"Bearer {KEY}"))
    assert [event["generated_text"] for event in events(text)] == [None, None, " 1 2 3"]


def test_limits_are_reported_as_tgi_reports_them(tmp_path: Path):
    long, longer = ({"messages": [{"role": "user", "content": "word " * count}]} for count in (250, 500))

    async def conversation(asker: Asker) -> list[tuple[int, str]]:
        requested = [long, {**CHAT, "max_tokens": 500}, {**CHAT, "max_tokens": 0}, {}, longer]
        return [await asker.post("/v1/chat/completions", body, Authorization=f"Bearer {KEY}") for body in requested]

    answers = ask(tmp_path, conversation)
    assert [status for status, _ in answers] == [422] * 5
    first, second, third, fourth, fifth = (text for _, text in answers)
    error = json.loads(first)
    assert error["error_type"] == "validation"
    assert error["error"] == "Input validation error: `inputs` must have less than 200 tokens. Given: 253"
    assert "must be <= 400. Given: 5 `inputs` tokens and 500 `max_new_tokens`" in second
    assert "strictly positive" in third
    assert "missing field `messages`" in fourth
    assert "must be <= 400. Given: 503 `inputs` tokens and 0 `max_new_tokens`" in fifth


@pytest.mark.parametrize(
    ("total", "longest", "limit", "made"),
    [
        (4096, 3000, None, 2500),  # the requested number, in three steps
        (4096, 3000, 5000, 2500),  # more than the capacity is no error: only the first step must fit
        (4096, 3000, 1100, 2048),  # a step is not shortened to the rest
        (2048, 1500, None, 2043),  # to the last token, because the prompt can still grow at 1,029
        (2048, 1000, None, 1024),  # the prompt and the first step are above the limit of a prompt
    ],
)
def test_long_answers_are_generated_in_steps(total: int, longest: int, limit: int | None, made: int):
    changed = {"MAX_TOTAL_TOKENS": str(total), "MAX_INPUT_TOKENS": str(longest)}
    generator = TgiGenerator(tgi_settings([], {**TGI_ENVIRONMENT, **changed}), token_seconds=0.001)
    assert len(generator.admit("user: count to 2500", "count to 2500", limit).answer.tokens) == made


def test_too_many_prompts_are_rejected_with_the_allowed_number(tmp_path: Path):
    body = {"prompt": ["x"] * 5}
    requested = ask(tmp_path, lambda asker: asker.post("/v1/completions", body, Authorization=f"Bearer {KEY}"))
    assert requested[0] == 422
    assert "maximum allowed batch size of 4" in requested[1]


def test_a_body_above_the_payload_limit_is_413(tmp_path: Path):
    long = {"messages": [{"role": "user", "content": "x" * 2_000_000}]}
    requested = ask(tmp_path, lambda asker: asker.post("/v1/chat/completions", long, Authorization=f"Bearer {KEY}"))
    assert requested == (413, "length limit exceeded")


def test_above_the_limit_the_answer_is_429_and_in_a_stream_an_event(tmp_path: Path):
    body = {"messages": [{"role": "user", "content": "count to 100"}]}

    async def conversation(asker: Asker) -> list[tuple[int, str]]:
        def post(body: Any) -> Any:
            return asker.post("/v1/chat/completions", body, Authorization=f"Bearer {KEY}")

        first = asyncio.ensure_future(post(body))
        await asyncio.sleep(0.05)
        refused = [await post(body), await post({**body, "stream": True})]
        return [*refused, await first]

    (status, text), (streamed, stream), (done, _) = ask(tmp_path, conversation, MAX_CONCURRENT_REQUESTS="1")
    assert (status, json.loads(text)) == (429, {"error": "Model is overloaded", "error_type": "overloaded"})
    assert (streamed, done) == (200, 200)
    assert [event if event == "[DONE]" else event["error"]["message"] for event in events(stream)] == [
        "Model is overloaded",
        "[DONE]",
    ]


def test_metrics_report_batch_and_queue_while_requests_wait(tmp_path: Path):
    body = {"messages": [{"role": "user", "content": "count to 100"}]}

    async def conversation(asker: Asker) -> tuple[str, str]:
        before = (await asker.get("/metrics"))[1]
        posts = [
            asyncio.ensure_future(asker.post("/v1/chat/completions", body, Authorization=f"Bearer {KEY}"))
            for _ in range(3)
        ]
        await asyncio.sleep(0.05)
        during = (await asker.get("/metrics"))[1]
        await asyncio.gather(*posts)
        return before, during

    before, during = ask(tmp_path, conversation)
    assert "tgi_queue_size" not in before, "a series is there only once something was recorded in it"
    assert "\ntgi_queue_size 1\n" in during
    assert "\ntgi_batch_current_size 2\n" in during


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [("{", "application/json", 400), ("[]", "application/json", 422), ("{}", "text/plain", 415)],
)
def test_invalid_bodies_are_rejected(tmp_path: Path, body: str, kind: str, status: int):
    headers = {"Content-Type": kind, "Authorization": f"Bearer {KEY}"}
    assert ask(tmp_path, lambda asker: asker.post_text("/generate", body, **headers)) == status


LAUNCHER = ["text-generation-launcher"]


def test_the_environment_sets_the_served_model():
    settings = tgi_settings(LAUNCHER, {**TGI_ENVIRONMENT, "API_KEY": "k", "HF_HOME": "/x", "USAGE_STATS": "off"})
    assert (settings.port, settings.max_batch_size, settings.max_total_tokens) == (8080, 2, 400)
    assert (settings.max_input_tokens, settings.graceful_termination_timeout, settings.api_key) == (200, 90, "k")


def test_missing_settings_have_the_launchers_defaults():
    reported = {"MODEL_ID": "m", "HF_NUM_CORES": "2", "HF_AUTO_CAST_TYPE": "bf16", "MAX_BATCH_SIZE": "4"}
    settings = tgi_settings([], {**reported, "MAX_TOTAL_TOKENS": "4096"})
    assert (settings.port, settings.max_input_tokens, settings.max_concurrent_requests) == (3000, 2048, 128)
    assert settings.api_key is None


@pytest.mark.parametrize(
    ("level", "logged"),
    [
        (None, True),
        ("info", True),
        ("warn", False),
        ("text_generation_launcher=warn,info", False),
        ("warn,text_generation_launcher=debug", True),
        ("info,text_generation_launcher=warn,text_generation_launcher[shard-manager]=info", False),
    ],
)
def test_the_launcher_logs_its_arguments_by_default(level: str | None, logged: bool):
    reported = {"LOG_LEVEL": level} if level else {}
    assert tgi_settings([], {**TGI_ENVIRONMENT, **reported}).logs_arguments is logged


def test_arguments_override_the_environment():
    settings = tgi_settings([*LAUNCHER, "--max-batch-size", "8", "--port=80", "--json-output"], TGI_ENVIRONMENT)
    assert (settings.max_batch_size, settings.port) == (8, 80)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"MAX_INPUT_TOKENS": "400"}, "`max_input_tokens`(400) must be < `max_total_tokens`(400)"),
        ({"MAX_INPUT_TOKENS": "half"}, "invalid value 'half' for '--max-input-tokens"),
        ({"PORT": "65536"}, "invalid value '65536' for '--port"),
        ({"MAX_BATCH_SIZE": "0"}, "`max_batch_size` must be > 0"),
        ({"VALIDATION_WORKERS": "0"}, "`validation_workers` must be > 0"),
        ({"MAX_BATCH_PREFILL_TOKENS": "100"}, "must be >= `max_input_tokens`. Given: 100 and 200"),
        ({"MAX_BATCH_TOTAL_TOKENS": "100"}, "must be <= `max_batch_total_tokens`. Given: 400 and 100"),
        ({"MAX_BATCH_TOTAL_TOKENS": "400", "MAX_BATCH_PREFILL_TOKENS": "401"}, "Given: 401 and 400"),
        ({"MAX_INPUT_LENGTH": "100"}, "Both `max_input_tokens` (200) and `max_input_length` (100) are set"),
        ({"USAGE_STATS": "none"}, "invalid value 'none' for '--usage-stats"),
        ({"WAITING_SERVED_RATIO": "much"}, "invalid value 'much'"),
        ({"HF_AUTO_CAST_TYPE": "int3"}, "No compatible neuron config found"),
        ({"MAX_TOTAL_TOKEN": "4"}, "TGI does not read MAX_TOTAL_TOKEN"),
    ],
)
def test_invalid_settings_are_rejected_with_the_launchers_text(changed: dict[str, str], said: str):
    with pytest.raises(SettingRefused) as refused:
        tgi_settings(LAUNCHER, {**TGI_ENVIRONMENT, **changed})
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "name", ["MODEL_ID", "MAX_BATCH_SIZE", "MAX_TOTAL_TOKENS", "HF_NUM_CORES", "HF_AUTO_CAST_TYPE"]
)
def test_settings_of_a_compiled_model_are_required(name: str):
    with pytest.raises(SettingRefused):
        tgi_settings(LAUNCHER, {key: value for key, value in TGI_ENVIRONMENT.items() if key != name})


@pytest.mark.parametrize("command", [["vllm", "serve"], [*LAUNCHER, "--max-batch", "4"], [*LAUNCHER, "--port"]])
def test_unknown_programs_and_arguments_are_rejected(command: list[str]):
    with pytest.raises(SettingRefused):
        tgi_settings(command, TGI_ENVIRONMENT)
