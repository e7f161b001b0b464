"""A stand-in in this process, called directly, without a load balancer."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, UnixConnector, web
from yarl import URL

from llm_fleet_local.serving.servers.http_server import HttpServer


class Asker:
    """Sends requests to one server."""

    def __init__(self, session: ClientSession) -> None:
        self._session = session

    async def get(self, path: str, **headers: str) -> tuple[int, str]:
        async with self._session.get(f"http://server{path}", headers=headers) as answer:
            return answer.status, await answer.text()

    async def post(self, path: str, body: Any, **headers: str) -> tuple[int, str]:
        async with self._session.post(f"http://server{path}", json=body, headers=headers) as answer:
            return answer.status, await answer.text()

    async def status(self, method: str, path: str, body: Any = None, key: str | None = None) -> int:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        url = URL(f"http://server{path}", encoded=True)
        async with self._session.request(method, url, json=body, headers=headers) as answer:
            return answer.status

    async def post_text(self, path: str, text: str, **headers: str) -> int:
        async with self._session.post(f"http://server{path}", data=text, headers=headers) as answer:
            return answer.status


@asynccontextmanager
async def asking(server: HttpServer, folder: Path) -> AsyncGenerator[Asker]:
    runner = web.ServerRunner(web.Server(server.handle))
    await runner.setup()
    await web.UnixSite(runner, folder / "socket").start()
    async with ClientSession(connector=UnixConnector(str(folder / "socket"))) as session:
        yield Asker(session)
    await runner.cleanup()
