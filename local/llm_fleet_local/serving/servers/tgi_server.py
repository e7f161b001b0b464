"""A stand-in of Text Generation Inference: its routes, and which of them require the key (router/src/server.rs).

Source: assumption model-servers-as-in-their-sources
"""

from contextlib import aclosing
from typing import Any

from aiohttp import web

from llm_fleet_local.serving.servers import tgi_messages as messages
from llm_fleet_local.serving.servers.http_server import EventStream, Handler, HttpError, HttpServer, Routes
from llm_fleet_local.serving.servers.requests import (
    limit_of,
    messages_of,
    model_of,
    new_tokens_of,
    prompt_of,
    prompts_of,
    question_of,
    text_field,
    wants_stream,
    wants_usage,
)
from llm_fleet_local.serving.servers.tgi_generation import Generation, TgiError, TgiGenerator
from llm_fleet_local.serving.servers.tgi_settings import TgiSettings
from llm_fleet_local.serving.servers.words import tokenize

_STREAM_HEADERS = {"x-compute-type": "neuron", "X-Accel-Buffering": "no"}


class TgiServer(HttpServer):
    """One server. Without `API_KEY`, all requests are allowed."""

    def __init__(self, settings: TgiSettings, *, token_seconds: float) -> None:
        """The settings, and the seconds per token."""
        self._settings = settings
        self._generator = TgiGenerator(settings, token_seconds=token_seconds)
        self.payload_limit = settings.payload_limit
        self._guarded: Routes = {
            ("POST", "/"): self._compatible,
            ("POST", "/generate"): self._generate,
            ("POST", "/generate_stream"): self._generate_stream,
            ("POST", "/v1/chat/completions"): self._chat,
            ("POST", "/v1/completions"): self._completions,
            ("POST", "/invocations"): self._invocations,
            ("POST", "/tokenize"): self._tokenize,
        }
        self._open: Routes = {
            ("GET", "/"): self._health,
            ("GET", "/health"): self._health,
            ("GET", "/ping"): self._health,
            ("GET", "/info"): self._json(messages.info(settings)),
            ("GET", "/metrics"): self._metrics,
            ("GET", "/v1/models"): self._json(messages.models(settings)),
            ("POST", "/chat_tokenize"): self._chat_tokenize,
            ("GET", "/docs"): self._docs,
            ("GET", "/docs/"): self._docs,
            ("GET", "/api-doc/openapi.json"): self._json({"openapi": "3.0.3", "info": {"title": "stand-in"}}),
        }

    @property
    def routes(self) -> Routes:
        """Routes with and without the key."""
        return {**self._guarded, **self._open}

    def guard(self, request: web.BaseRequest, path: str) -> None:
        """Compare the key, without regard to case, as TGI does; only on the routes that generate.

        Source: code huggingface/text-generation-inference 3.3.6, router/src/server.rs start
        """
        key = self._settings.api_key
        if key is None or (request.method, path) not in self._guarded:
            return
        if request.headers.get("Authorization", "").lower() != f"Bearer {key}".lower():
            raise HttpError(401)

    def refusal(self, status: int, reason: str) -> HttpError:
        """Respond like axum: 422 as plain text, when serde cannot deserialize the request."""
        before = "Failed to deserialize the JSON body into the target type: " if status == 422 else ""
        return HttpError(status, before + reason)

    async def _health(self, _: web.BaseRequest) -> web.StreamResponse:
        return web.Response()

    async def _metrics(self, _: web.BaseRequest) -> web.StreamResponse:
        return web.Response(text=self._generator.metrics.text())

    async def _docs(self, _: web.BaseRequest) -> web.StreamResponse:
        return web.Response(text="<title>Swagger UI</title>", content_type="text/html")

    def _json(self, body: Any) -> Handler:
        async def answer(_: web.BaseRequest) -> web.StreamResponse:
            return web.json_response(body)

        return answer

    async def _chat(self, request: web.BaseRequest) -> web.StreamResponse:
        return await self._chat_of(request, await self._body(request))

    async def _chat_of(self, request: web.BaseRequest, body: dict[str, Any]) -> web.StreamResponse:
        requested = model_of(body)
        model = self._settings.model_id if requested in (None, "tgi") else requested
        turns, limit, with_usage = messages_of(body), limit_of(body), wants_usage(body)
        prompt, question = prompt_of(turns), question_of(turns)
        if wants_stream(body):
            return await self._chat_stream(request, model, prompt, question, limit, with_usage=with_usage)
        generation = await self._whole(prompt, question, limit)
        counted = messages.usage(generation.prompt_tokens, len(generation.answer.tokens))
        text = generation.answer.text
        return web.json_response(messages.chat_completion(model, text, generation.finish_reason, counted))

    async def _chat_stream(
        self,
        request: web.BaseRequest,
        model: str,
        prompt: str,
        question: str,
        limit: int | None,
        *,
        with_usage: bool,
    ) -> web.StreamResponse:
        """Errors are in the stream, because the status was sent before."""
        stream = await self._begun(request)
        try:
            generation = self._generator.admit(prompt, question, limit)
        except TgiError as error:
            await stream.send(messages.chat_error_event(error.message))
            return await stream.end()
        last = len(generation.answer.tokens)
        number = 0
        async with aclosing(self._generator.tokens(generation)) as tokens:
            async for token in tokens:
                number += 1
                reason = generation.finish_reason if number == last else None
                await stream.send(messages.chat_chunk(model, token, reason))
        if with_usage:
            await stream.send(messages.chat_usage_chunk(model, messages.usage(generation.prompt_tokens, last)))
        return await stream.end()

    async def _completions(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await self._body(request)
        prompts, limit = prompts_of(body), limit_of(body)
        if len(prompts) > self._settings.max_client_batch_size:
            # Source: code huggingface/text-generation-inference 3.3.6, router/src/server.rs completions
            most = self._settings.max_client_batch_size
            text = f"Number of prompts exceeds the maximum allowed batch size of {most}"
            raise HttpError(422, messages.error(text, "batch size exceeded"))
        if wants_stream(body):
            return await self._completion_stream(request, prompts, limit)
        done = [await self._whole(prompt, prompt, limit) for prompt in prompts]
        choices = [
            messages.completion_choice(number, item.answer.text, item.finish_reason) for number, item in enumerate(done)
        ]
        counted = messages.usage(
            sum(item.prompt_tokens for item in done), sum(len(item.answer.tokens) for item in done)
        )
        return web.json_response(messages.completion(self._settings.model_id, choices, counted))

    async def _completion_stream(
        self, request: web.BaseRequest, prompts: list[str], limit: int | None
    ) -> web.StreamResponse:
        stream = await self._begun(request)
        model = self._settings.model_id
        for index, prompt in enumerate(prompts):
            try:
                generation = self._generator.admit(prompt, prompt, limit)
            except TgiError as error:
                await stream.send(messages.error(error.message, error.error_type))
                continue
            last, number = len(generation.answer.tokens), 0
            async with aclosing(self._generator.tokens(generation)) as tokens:
                async for token in tokens:
                    number += 1
                    reason = generation.finish_reason if number == last else ""
                    counted = messages.usage(generation.prompt_tokens, last) if number == last else None
                    choice = messages.completion_choice(index, token, reason)
                    await stream.send(messages.completion(model, [choice], counted))
        return await stream.end()

    async def _generate(self, request: web.BaseRequest) -> web.StreamResponse:
        generation = await self._generated(await self._body(request))
        return web.json_response({"generated_text": generation.answer.text})

    async def _compatible(self, request: web.BaseRequest) -> web.StreamResponse:
        generation = await self._generated(await self._body(request))
        return web.json_response([{"generated_text": generation.answer.text}])

    async def _invocations(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await self._body(request)
        if "messages" in body:
            return await self._chat_of(request, body)
        generation = await self._generated(body)
        return web.json_response({"generated_text": generation.answer.text})

    async def _generate_stream(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await self._body(request)
        inputs, limit = text_field(body, "inputs"), new_tokens_of(body)
        stream = await self._begun(request)
        try:
            generation = self._generator.admit(inputs, inputs, limit)
        except TgiError as error:
            await stream.send(messages.error(error.message, error.error_type))
            return await stream.end(marked=False)
        text = generation.answer.text
        number = 0
        async with aclosing(self._generator.tokens(generation)) as tokens:
            async for token in tokens:
                number += 1
                whole = text if number == len(generation.answer.tokens) else None
                await stream.send(messages.stream_token(number, token, whole))
        return await stream.end(marked=False)

    async def _tokenize(self, request: web.BaseRequest) -> web.StreamResponse:
        inputs = text_field(await self._body(request), "inputs")
        return web.json_response(messages.tokens(tokenize(inputs)))

    async def _chat_tokenize(self, request: web.BaseRequest) -> web.StreamResponse:
        prompt = prompt_of(messages_of(await self._body(request)))
        return web.json_response({"tokenize_response": messages.tokens(tokenize(prompt)), "templated_text": prompt})

    async def _begun(self, request: web.BaseRequest) -> EventStream:
        stream = EventStream(request, _STREAM_HEADERS)
        await stream.begin()
        return stream

    async def _generated(self, body: dict[str, Any]) -> Generation:
        inputs = text_field(body, "inputs")
        return await self._whole(inputs, inputs, new_tokens_of(body))

    async def _whole(self, prompt: str, question: str, limit: int | None) -> Generation:
        try:
            return await self._generator.generate(prompt, question, limit)
        except TgiError as error:
            # Source: code huggingface/text-generation-inference 3.3.6, router/src/server.rs From<InferError>
            raise HttpError(error.status, messages.error(error.message, error.error_type)) from error

    async def _body(self, request: web.BaseRequest) -> dict[str, Any]:
        body = await self.json_body(request)
        self._generator.metrics.count("tgi_request_count")
        return body
