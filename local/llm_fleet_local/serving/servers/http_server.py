"""HTTP for the stand-ins: exact routes, no normalization of paths, graceful shutdown.

Source: assumption model-servers-as-in-their-sources
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast
from urllib.parse import unquote

from aiohttp import web

from llm_fleet_local.serving.servers.account_context import AccountContext
from llm_fleet_local.serving.servers.requests import WrongBody

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Routes = Mapping[tuple[str, str], Handler]
"""Handlers by method and path."""


class HttpError(Exception):
    """Ends a request with a response."""

    def __init__(self, status: int, body: Any = None) -> None:
        """Take the status and a body: JSON, text or nothing."""
        super().__init__(status)
        self.status = status
        self.body = body


class HttpServer:
    """Handles routes. Subclasses parse paths and authorize requests."""

    decodes_paths = False
    """Whether `%2F` in a path is a slash to the router."""
    payload_limit = 2_000_000
    """Maximum bytes of a request's body."""

    @property
    def routes(self) -> Routes:
        """What is answered."""
        raise NotImplementedError

    def guard(self, request: web.BaseRequest, path: str) -> None:
        """Raise `HttpError` for an unauthorized request."""

    def refusal(self, status: int, reason: str) -> HttpError:
        """Return the error for a body that is not a valid request.

        `status`: 400 for invalid JSON, 415 for another content type, 422 for JSON of a wrong type.
        """
        return HttpError(status, reason)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request, and write a line about it."""
        path = request.raw_path.partition("?")[0]
        path = unquote(path) if self.decodes_paths else path
        try:
            response = await self._answer(request, path)
        except HttpError as error:
            response = _error_response(error)
        except WrongBody as wrong:
            response = _error_response(self.refusal(422, str(wrong)))
        print(request.method, request.raw_path, response.status, flush=True)
        return response

    async def json_body(self, request: web.BaseRequest) -> dict[str, Any]:
        """Return the request's body. Raises `HttpError` for bad or long JSON, `WrongBody` if it is no object."""
        body = bytearray()
        async for chunk in request.content.iter_any():
            body += chunk
            if len(body) > self.payload_limit:
                # Source: code huggingface/text-generation-inference 3.3.6, router/src/server.rs DefaultBodyLimit, and
                # axum
                raise HttpError(413, "length limit exceeded")
        # Source: assumption model-servers-as-in-their-sources
        if request.content_type != "application/json":
            raise self.refusal(415, "Expected request with `Content-Type: application/json`")
        try:
            parsed: Any = json.loads(bytes(body))
        except (ValueError, RecursionError) as error:
            raise self.refusal(400, f"Failed to parse the request body as JSON: {error}") from error
        if not isinstance(parsed, dict):
            raise WrongBody("expected an object")
        return cast("dict[str, Any]", parsed)

    async def _answer(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        # Source: assumption model-servers-as-in-their-sources
        methods = [method for method, known in self.routes if known == path]
        if not methods:
            raise HttpError(404)
        if request.method not in methods:
            raise HttpError(405)
        self.guard(request, path)
        return await self.routes[request.method, path](request)


class EventStream:
    """Server-sent events, one JSON document each; `begin` comes first."""

    def __init__(self, request: web.BaseRequest, headers: Mapping[str, str] | None = None) -> None:
        """Take the request that is answered."""
        self._request = request
        self._response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache", **(headers or {})}
        )

    async def begin(self) -> None:
        """Send the status before the result is known."""
        await self._response.prepare(self._request)

    async def send(self, message: Any) -> None:
        """Send one event; text goes as it is."""
        text = message if isinstance(message, str) else json.dumps(message, separators=(",", ":"))
        await self._response.write(f"data: {text}\n\n".encode())

    async def end(self, *, marked: bool = True) -> web.StreamResponse:
        """End the stream; if `marked`, with OpenAI's last event."""
        if marked:
            await self.send("[DONE]")
        await self._response.write_eof()
        return self._response


async def serve(
    server: HttpServer,
    *,
    port: int,
    graceful_seconds: float,
    account_context: AccountContext,
    on_stop: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGTERM; then refuse new requests, call `on_stop`, and let open ones finish for `graceful_seconds`.

    Also ends when standard input ends: the parent process holds the other end.
    """
    runner = web.ServerRunner(
        web.Server(server.handle), shutdown_timeout=graceful_seconds * account_context.time_scale, handle_signals=False
    )
    await runner.setup()
    await web.UnixSite(runner, account_context.interface / str(port)).start()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, lambda: None)
    await _end_with_input(loop)
    print(f"listening at port {port}", flush=True)
    await stop.wait()
    print("signal received, starting graceful shutdown", flush=True)
    on_stop()
    await runner.cleanup()
    print("ended", flush=True)


async def _end_with_input(loop: asyncio.AbstractEventLoop) -> None:
    """The parent process is gone: end this process immediately."""

    class Watch(asyncio.Protocol):
        """Sees standard input end."""

        def connection_lost(self, exc: Exception | None) -> None:
            """Input has ended."""
            os._exit(1)

    await loop.connect_read_pipe(Watch, sys.stdin)


def _error_response(error: HttpError) -> web.Response:
    if error.body is None:
        return web.Response(status=error.status)
    if isinstance(error.body, str):
        return web.Response(status=error.status, text=error.body)
    return web.json_response(error.body, status=error.status)
