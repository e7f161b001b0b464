"""OpenAI's own client and a synthesized service: what users of a service can rely on."""

import asyncio
import re
import time

import openai
import pytest
from openai.types.chat import ChatCompletionChunk

from llm_fleet_local.serving.local_issuer import LocalIssuer
from llm_fleet_local.serving.local_service import LocalService
from llm_fleet_local.serving.proxy.targets import State
from llm_fleet_local.serving.tasks.stop_sequence import Stopped
from tests.contract.clients import async_client, client, collector_scrape, get_from_task, numbers, send, user
from tests.contract.conftest import ISSUER, TIME_SCALE, Serve

GOOD = {"iss": ISSUER.issuer, "scope": "read chat"}


@pytest.fixture(params=["tgi", "vllm"])
def served(request: pytest.FixtureRequest) -> LocalService:
    """Each of two servers: a client changes only the name of the model."""
    return request.getfixturevalue(request.param)


def test_a_chat_is_streamed_token_by_token(served: LocalService):
    stream = client(served).chat.completions.create(
        model=served.service.name, messages=user("count to 30"), stream=True, stream_options={"include_usage": True}
    )
    texts: list[str] = []
    reasons: list[str | None] = []
    usage = None
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            if choice.delta.content:
                texts.append(choice.delta.content)
            reasons.append(choice.finish_reason)
    assert "".join(texts) == numbers(30)
    assert len(texts) == 30
    assert reasons[-1] == "stop"
    assert usage is not None
    assert usage.completion_tokens == 30


def test_the_first_token_arrives_long_before_the_last(served: LocalService):
    with client(served).chat.completions.create(
        model=served.service.name, messages=user("count to 450"), max_tokens=450, stream=True
    ) as stream:
        first = next(chunk for chunk in stream if chunk.choices and chunk.choices[0].delta.content)
        assert first.choices[0].delta.content == numbers(1)
        assert any(served.under_way(task) for task in served.tasks), "not collected on its way"


def test_a_chat_without_streaming(served: LocalService):
    answer = client(served).chat.completions.create(
        model=served.service.name, messages=user("count to 9"), max_tokens=5
    )
    assert answer.choices[0].message.content == numbers(5)
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 5


def test_a_completion_is_answered(served: LocalService):
    answer = client(served).completions.create(model=served.service.name, prompt="count to 7")
    assert answer.choices[0].text == numbers(7)


def test_models_are_listed_with_the_name_that_clients_use(served: LocalService):
    assert [model.id for model in client(served).models.list()] == [served.service.name]


def test_streams_side_by_side_are_spread_over_the_tasks(tgi: LocalService):
    async def one(asker: openai.AsyncOpenAI) -> str:
        stream = await asker.chat.completions.create(model="tgi", messages=user("count to 10"), stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])

    async def main() -> list[str]:
        async with async_client(tgi) as asker:
            return await asyncio.gather(*(one(asker) for _ in range(4)))

    before = len(tgi.log)
    assert asyncio.run(main()) == [numbers(10)] * 4
    assert len(tgi.tasks) == 2, "as many as the template says"
    assert {entry.target for entry in tgi.log[before:]} == {"task-1", "task-2"}


def test_the_server_rejects_a_wrong_key_and_the_load_balancer_a_missing_one(served: LocalService):
    with pytest.raises(openai.AuthenticationError):
        client(served, "wrong").chat.completions.create(model=served.service.name, messages=user("x"))
    assert served.log[-1].status == 401
    assert served.log[-1].target is not None
    status, _ = send(served.url, "POST", "/v1/chat/completions", body={"messages": user("x")})
    assert (status, served.log[-1].target) == (401, None)


@pytest.mark.parametrize("path", ["/metrics", "/info", "/docs", "/api-doc/openapi.json", "/ping", "/"])
def test_internal_paths_are_404_for_everyone(served: LocalService, path: str):
    with pytest.raises(openai.NotFoundError, match="Nothing is served at this path"):
        client(served).with_options(base_url=served.url).get(path, cast_to=object)
    assert served.log[-1].target is None


@pytest.mark.parametrize("path", ["/generate", "/generate_stream", "/invocations", "/tokenize", "/chat_tokenize", "/"])
def test_other_routes_for_generation_are_404_even_with_the_key(served: LocalService, path: str):
    with pytest.raises(openai.NotFoundError):
        client(served).with_options(base_url=served.url).post(path, cast_to=object, body={"inputs": "x"})
    assert served.log[-1].target is None


def test_a_prompt_that_is_too_long_is_reported_and_not_retried(tgi: LocalService, vllm: LocalService):
    with pytest.raises(openai.UnprocessableEntityError) as rejected:
        client(tgi).chat.completions.create(model="tgi", messages=user("word " * 300))
    assert "must have less than 256 tokens" in rejected.value.response.text
    with pytest.raises(openai.BadRequestError, match="maximum context length is 512 tokens"):
        client(vllm).chat.completions.create(model="vllm", messages=user("word " * 600))


def test_vllm_rejects_another_model_name_and_tgi_ignores_it(tgi: LocalService, vllm: LocalService):
    with pytest.raises(openai.NotFoundError, match="`gpt` does not exist"):
        client(vllm).chat.completions.create(model="gpt", messages=user("count to 2"))
    answer = client(tgi).chat.completions.create(model="gpt", messages=user("count to 2"))
    assert answer.choices[0].message.content == numbers(2)


def test_an_overloaded_tgi_answers_with_a_rate_limit_error_and_an_error_in_a_stream(tgi: LocalService):
    """Two tasks take three requests each, of which one waits; the seventh is too many."""
    chats = client(tgi).chat.completions
    busy = [chats.create(model="tgi", messages=user("count to 400"), stream=True) for _ in range(6)]
    assert [tgi.under_way(task) for task in tgi.tasks] == [3, 3]
    with pytest.raises(openai.RateLimitError) as rejected:
        chats.create(model="tgi", messages=user("count to 2"))
    assert rejected.value.response.json() == {"error": "Model is overloaded", "error_type": "overloaded"}
    with pytest.raises(openai.APIError, match="Model is overloaded") as streamed:
        list(chats.create(model="tgi", messages=user("count to 2"), stream=True))
    assert not isinstance(streamed.value, openai.RateLimitError), "its status was 200, and no client retries it"
    for each in busy:
        each.close()
    while sum(tgi.under_way(task) for task in tgi.tasks):
        time.sleep(0.01)
    answer = chats.create(model="tgi", messages=user("count to 2"))
    assert answer.choices[0].message.content == numbers(2), "who went away left his place"


def test_a_stream_is_completed_while_its_task_is_drained(serve: Serve):
    """The other task gets all new requests, even if it has more to do."""
    with serve("tgi", 2) as service:

        def begin(last: int) -> openai.Stream[ChatCompletionChunk]:
            return client(service).chat.completions.create(model="tgi", messages=user(f"count to {last}"), stream=True)

        stream = begin(60)
        texts = [next(stream).choices[0].delta.content or ""]
        (draining,) = [task for task in service.tasks if service.under_way(task)]
        (other,) = [task for task in service.tasks if task is not draining]
        begun = time.monotonic()
        stopped = service.begin_stop(draining)
        while service.state(draining) is not State.DRAINING:
            time.sleep(0.001)
        held = [begin(40), begin(40)]
        answer = client(service).chat.completions.create(model="tgi", messages=user("count to 2"))
        assert answer.choices[0].message.content == numbers(2)
        assert [entry.target for entry in service.log] == [draining.name, other.name, other.name, other.name]
        assert [len(list(each)) for each in held] == [40, 40]
        texts += [chunk.choices[0].delta.content or "" for chunk in stream]
        assert "".join(texts) == numbers(60)
        assert service.state(draining) is State.DRAINING, "all of it within the deregistration delay"
        assert draining.running, "and before the server was signaled to stop"
        assert stopped.result() == Stopped(exit_code=0, killed=False)
        assert time.monotonic() - begun >= 600 * TIME_SCALE


def test_a_valid_token_is_accepted(tokens: LocalService, issuer: LocalIssuer):
    answer = client(tokens, issuer.token(GOOD)).chat.completions.create(model="x", messages=user("count to 3"))
    assert answer.choices[0].message.content == numbers(3)


@pytest.mark.parametrize("fault", ["expired", "issuer", "signature", "claim", "garbage"])
def test_any_other_token_is_rejected_by_the_load_balancer(tokens: LocalService, issuer: LocalIssuer, fault: str):
    token = {
        "expired": lambda: issuer.token(GOOD, seconds=-1),
        "issuer": lambda: issuer.token({**GOOD, "iss": "https://other.example.com"}),
        "signature": lambda: LocalIssuer().token(GOOD),
        "claim": lambda: issuer.token({**GOOD, "scope": "read"}),
        "garbage": lambda: "a.b.c",
    }[fault]()
    with pytest.raises(openai.AuthenticationError):
        client(tokens, token).chat.completions.create(model="x", messages=user("count to 3"))
    assert tokens.log[-1].target is None


def test_the_load_balancer_rejects_a_request_without_a_token(tokens: LocalService):
    status, _ = send(tokens.url, "POST", "/v1/chat/completions", body={"messages": user("x")})
    assert (status, tokens.log[-1].target) == (401, None)


def test_the_collector_keeps_only_metrics_that_the_server_has(served: LocalService, template: str):
    """After an answer and an error: a metric that no server publishes would be an empty line in the dashboard."""
    with pytest.raises(openai.APIStatusError):
        client(served).chat.completions.create(model=served.service.name, messages=user("word " * 600))
    client(served).chat.completions.create(model=served.service.name, messages=user("count to 2"))
    scrape = collector_scrape(template, served.service.name)
    assert scrape["static_configs"][0]["targets"] == [f"127.0.0.1:{served.service.container.port}"]
    names = [
        line.partition(" ")[0].partition("{")[0] for line in get_from_task(served.tasks[0], scrape["metrics_path"])
    ]
    kept = scrape["metric_relabel_configs"][0]["regex"].split("|")
    assert len(kept) > 5
    assert [name for name in kept if not any(re.fullmatch(name, series) for series in names)] == []
