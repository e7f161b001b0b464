"""A stand-in of vLLM's OpenAI server: its routes, its key, its refusal of other models' names.

Source: assumption model-servers-as-in-their-sources
"""

import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from aiohttp import web

from llm_fleet_local.serving.servers import vllm_messages as messages
from llm_fleet_local.serving.servers.batch import Batch, BatchEnded, Timing
from llm_fleet_local.serving.servers.http_server import EventStream, HttpError, HttpServer, Routes
from llm_fleet_local.serving.servers.prometheus import Metrics
from llm_fleet_local.serving.servers.requests import (
    limit_of,
    messages_of,
    model_of,
    prompt_of,
    prompts_of,
    question_of,
    text_field,
    wants_stream,
    wants_usage,
)
from llm_fleet_local.serving.servers.vllm_settings import VllmSettings
from llm_fleet_local.serving.servers.words import Answer, answer, tokenize

_COMPLETION_TOKENS = 16
"""Default limit of tokens of `/v1/completions`, as in OpenAI's API."""


class VllmServer(HttpServer):
    """One server. It has no limit on requests that wait, and only `/v1` requires the key."""

    decodes_paths = True
    payload_limit = sys.maxsize
    """FastAPI has none."""

    def __init__(self, settings: VllmSettings, *, token_seconds: float) -> None:
        """The settings, and the seconds per token."""
        self._settings = settings
        self._batch = Batch(size=settings.batch_size, token_seconds=token_seconds)
        self._metrics = Metrics(f'engine="0",model_name="{settings.served_name}"')
        self._metrics.gauge("vllm:num_requests_running", lambda: self._batch.running)
        self._metrics.gauge("vllm:num_requests_waiting", lambda: self._batch.waiting)
        self._metrics.gauge("vllm:kv_cache_usage_perc", lambda: self._batch.running / settings.batch_size)

    @property
    def routes(self) -> Routes:
        """Routes below `/v1`, which require the key, and others, which do not."""
        return {
            ("GET", "/health"): self._health,
            ("GET", "/ping"): self._health,
            ("POST", "/ping"): self._health,
            ("GET", "/version"): self._version,
            ("GET", "/metrics"): self._metrics_text,
            ("POST", "/tokenize"): self._tokenize,
            ("POST", "/invocations"): self._chat,
            ("GET", "/docs"): self._docs,
            ("GET", "/v1/models"): self._models,
            ("POST", "/v1/chat/completions"): self._chat,
            ("POST", "/v1/completions"): self._completions,
        }

    def guard(self, request: web.BaseRequest, path: str) -> None:
        """Compare the key, but only below `/v1` (AuthenticationMiddleware).

        Source: assumption model-servers-as-in-their-sources
        """
        key = self._settings.api_key
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        if key is not None and path.startswith("/v1") and (scheme.lower() != "bearer" or given != key):
            raise HttpError(401, {"error": "Unauthorized"})

    def refusal(self, status: int, reason: str) -> HttpError:
        """Always respond 400 in OpenAI's form (validation_exception_handler)."""
        return HttpError(400, messages.error(400, "Bad Request", reason))

    def end(self) -> None:
        """Cancel running generations: on SIGTERM the engine ends before the HTTP server (run_server_worker)."""
        self._batch.end()

    async def _health(self, _: web.BaseRequest) -> web.StreamResponse:
        return web.Response()

    async def _version(self, _: web.BaseRequest) -> web.StreamResponse:
        return web.json_response({"version": "0.11.0"})

    async def _docs(self, _: web.BaseRequest) -> web.StreamResponse:
        return web.Response(text="<title>FastAPI - Swagger UI</title>", content_type="text/html")

    async def _metrics_text(self, _: web.BaseRequest) -> web.StreamResponse:
        return web.Response(text=self._metrics.text())

    async def _models(self, _: web.BaseRequest) -> web.StreamResponse:
        settings = self._settings
        return web.json_response(messages.models(settings.served_name, settings.model, settings.sequence_length))

    async def _tokenize(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await self.json_body(request)
        words = tokenize(prompt_of(messages_of(body)) if "messages" in body else text_field(body, "prompt"))
        settings = self._settings
        return web.json_response(
            {"count": len(words), "max_model_len": settings.sequence_length, "tokens": list(range(len(words)))}
        )

    async def _chat(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await self._body(request)
        turns, streamed, with_usage = messages_of(body), wants_stream(body), wants_usage(body)
        prompt, found = self._admit(prompt_of(turns), question_of(turns), limit_of(body))
        name, identity = self._settings.served_name, messages.identity("chatcmpl")
        counted = messages.usage(prompt, len(found.tokens))
        if not streamed:
            await self._whole(found, prompt)
            return web.json_response(messages.chat_completion(name, found.text, _reason(found), counted))

        def event(token: str, reason: str | None) -> dict[str, Any]:
            return messages.chat_chunk(identity, name, {"content": token}, reason)

        first = messages.chat_chunk(identity, name, {"role": "assistant", "content": ""}, None)
        last = messages.usage_chunk("chat.completion.chunk", identity, name, counted) if with_usage else None
        return await self._stream(request, found, prompt, event, first=first, last=last)

    async def _completions(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await self._body(request)
        prompts, limit = prompts_of(body), limit_of(body)
        streamed, with_usage = wants_stream(body), wants_usage(body)
        if not prompts:
            # Source: assumption model-servers-as-in-their-sources
            raise self.refusal(400, "prompt: expected at least one")
        prompt, found = self._admit(prompts[0], prompts[0], _COMPLETION_TOKENS if limit is None else limit)
        name, identity = self._settings.served_name, messages.identity("cmpl")
        counted = messages.usage(prompt, len(found.tokens))
        if not streamed:
            await self._whole(found, prompt)
            whole = messages.completion(identity, name, found.text, _reason(found))
            return web.json_response({**whole, "usage": counted})

        def event(token: str, reason: str | None) -> dict[str, Any]:
            return messages.completion(identity, name, token, reason)

        last = messages.usage_chunk("text_completion", identity, name, counted) if with_usage else None
        return await self._stream(request, found, prompt, event, last=last)

    async def _stream(
        self,
        request: web.BaseRequest,
        found: Answer,
        prompt: int,
        event: Callable[[str, str | None], dict[str, Any]],
        *,
        first: dict[str, Any] | None = None,
        last: dict[str, Any] | None,
    ) -> web.StreamResponse:
        """`first` goes with the first token, `last` after all."""
        stream = EventStream(request)
        await stream.begin()
        number = 0
        try:
            async with aclosing(self._tokens(found, prompt)) as tokens:
                async for token in tokens:
                    if first is not None and number == 0:
                        await stream.send(first)
                    number += 1
                    await stream.send(event(token, _reason(found) if number == len(found.tokens) else None))
        except BatchEnded:
            await stream.send(messages.error(500, "InternalServerError", "EngineCore encountered an issue."))
            return await stream.end()
        if last is not None:
            await stream.send(last)
        return await stream.end()

    async def _whole(self, found: Answer, prompt: int) -> None:
        try:
            async for _ in self._tokens(found, prompt):
                pass
        except BatchEnded as error:
            # Source: assumption model-servers-as-in-their-sources
            raise HttpError(500) from error

    async def _tokens(self, found: Answer, prompt: int) -> AsyncGenerator[str]:
        timing, metrics = Timing(), self._metrics
        async with aclosing(self._batch.generate(found.tokens, timing)) as tokens:
            async for token in tokens:
                yield token
        metrics.observe("vllm:request_queue_time_seconds", timing.started - timing.queued)
        metrics.observe("vllm:time_to_first_token_seconds", timing.first_token - timing.queued)
        metrics.observe("vllm:e2e_request_latency_seconds", timing.ended - timing.queued)
        pace = (timing.ended - timing.first_token) / max(len(found.tokens) - 1, 1)
        metrics.observe("vllm:inter_token_latency_seconds", pace)
        metrics.observe("vllm:time_per_output_token_seconds", pace)
        metrics.observe("vllm:request_prompt_tokens", prompt)
        metrics.observe("vllm:request_generation_tokens", len(found.tokens))
        metrics.count("vllm:prompt_tokens_total", by=prompt)
        metrics.count("vllm:generation_tokens_total", by=len(found.tokens))
        metrics.count("vllm:request_success_total", f'finished_reason="{_reason(found)}"')

    async def _body(self, request: web.BaseRequest) -> dict[str, Any]:
        body = await self.json_body(request)
        requested = model_of(body)
        if requested is not None and requested != self._settings.served_name:
            # Source: code vllm-project/vllm between 0.11 and 0.13, vllm/entrypoints/openai/serving_engine.py
            # _check_model
            raise HttpError(404, messages.error(404, "NotFoundError", f"The model `{requested}` does not exist."))
        return body

    def _admit(self, prompt: str, question: str, limit: int | None) -> tuple[int, Answer]:
        """Return the prompt's tokens and the generated ones. Raises `HttpError` when they exceed a sequence.

        Source: code vllm-project/vllm between 0.11 and 0.13, vllm/entrypoints/openai/serving_engine.py _validate_input
        Source: assumption model-servers-as-in-their-sources
        """
        prompt_tokens, length = len(tokenize(prompt)), self._settings.sequence_length
        room = length - prompt_tokens
        maximum = f"This model's maximum context length is {length} tokens"
        if room <= 0:
            raise _bad_request(
                f"{maximum}. However, your request has {prompt_tokens} input tokens. "
                "Please reduce the length of the input messages."
            )
        if limit is not None and limit > room:
            raise _bad_request(
                f"'max_tokens' or 'max_completion_tokens' is too large: {limit}. {maximum} and your request has "
                f"{prompt_tokens} input tokens ({limit} > {length} - {prompt_tokens})."
            )
        if limit == 0:
            raise _bad_request("max_tokens must be at least 1, got 0.")
        return prompt_tokens, answer(question, limit or room)


def _bad_request(text: str) -> HttpError:
    return HttpError(400, messages.error(400, "BadRequestError", text))


def _reason(found: Answer) -> str:
    return "stop" if found.ended else "length"
