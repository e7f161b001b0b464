"""Forwards a request to a target, and streams the response back.

Source: model botocore elbv2 LoadBalancerAttribute
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import cast

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from llm_fleet_local.serving.proxy.answers import own_error
from llm_fleet_local.serving.proxy.targets import Target

_HOP_BY_HOP = frozenset(
    (
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "trailer"),
        "te",  # codespell:ignore te
        *("transfer-encoding", "upgrade"),
    )
)
_CONNECT_SECONDS = 10
_DISTURBED = (aiohttp.ClientError, ConnectionError)


async def forward(
    request: web.BaseRequest,
    target: Target,
    *,
    path: str,
    headers: Mapping[str, str],
    idle_seconds: float,
    answered: Callable[[int], None],
) -> web.StreamResponse:
    """Return the response of `target`; `answered` is called with the status before the client gets any of it.

    502 when it cannot be reached or closes the connection, 504 when it sends nothing for `idle_seconds`; after the
    first byte the client's connection is closed instead, because the status is sent already.
    """
    task = cast("asyncio.Task[object]", asyncio.current_task())
    target.requests.add(task)
    try:
        return await _forward(request, target, path, headers, idle_seconds, answered)
    except asyncio.CancelledError:
        _break_off(request)
        raise
    finally:
        target.requests.discard(task)


async def _forward(
    request: web.BaseRequest,
    target: Target,
    path: str,
    headers: Mapping[str, str],
    idle_seconds: float,
    answered: Callable[[int], None],
) -> web.StreamResponse:
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=idle_seconds)
    connector = aiohttp.UnixConnector(str(target.socket), force_close=True)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout, auto_decompress=False) as session:
        requested = session.request(
            request.method,
            _url(path),
            headers=headers,
            data=request.content if request.body_exists else None,
            allow_redirects=False,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        )
        try:
            answer = await requested
        except TimeoutError:
            answered(504)
            return own_error(504)
        except _DISTURBED:
            answered(502)
            return own_error(502)
        async with answer:
            answered(answer.status)
            return await _hand_back(request, answer)


async def _hand_back(request: web.BaseRequest, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status, reason=answer.reason, headers=end_to_end(answer.headers))
    try:
        await response.prepare(request)
        async for chunk in answer.content.iter_any():
            await response.write(chunk)
        await response.write_eof()
    except (TimeoutError, *_DISTURBED):
        _break_off(request)
    return response


def end_to_end(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """Return the end-to-end headers."""
    kept = CIMultiDict[str]()
    for name, value in headers.items():
        if name.lower() not in _HOP_BY_HOP:
            kept.add(name, value)
    return kept


def _break_off(request: web.BaseRequest) -> None:
    if request.transport is not None:
        request.transport.abort()


def _url(path: str) -> URL:
    """The path as it was sent, without decoding, encoding or normalization."""
    plain, _, query = path.partition("?")
    return URL.build(scheme="http", host="target", path=plain, query_string=query, encoded=True)
