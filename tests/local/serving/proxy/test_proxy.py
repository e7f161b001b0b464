"""Responses of the load balancer itself, and its changes to forwarded requests and responses."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from aiohttp import ClientError, ClientSession
from yarl import URL

from llm_fleet_local.serving.local_issuer import LocalIssuer
from llm_fleet_local.serving.proxy.proxy import Proxy
from llm_fleet_local.serving.proxy.targets import State, Target
from llm_fleet_local.serving.template.read_front import read_front
from llm_fleet_local.serving.template.reader import TemplateReader
from tests.local.serving.templates import ELB, FORWARD, NOT_FOUND, paths, rule, template

Speak = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Surrounded:
    """A proxy with targets whose responses a test sets."""

    def __init__(self, folder: Path, body: str, **options: Any) -> None:
        self.folder = folder
        self.proxy = Proxy(read_front(TemplateReader(body), "Group"), **options)
        self.heard: list[str] = []
        self._servers: list[asyncio.Server] = []

    async def __aenter__(self) -> "Surrounded":
        await self.proxy.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.proxy.stop()
        for server in self._servers:
            server.close()

    async def add(self, speak: Speak, name: str = "a") -> Target:
        async def heard(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            if head.startswith("GET /health "):
                writer.write(OK)
            else:
                self.heard.append(head)
                await speak(reader, writer)
            writer.close()

        target = Target(name=name, socket=self.folder / name)
        self._servers.append(await asyncio.start_unix_server(heard, target.socket))
        self.proxy.register("Group", target)
        while target.state is State.INITIAL:
            await asyncio.sleep(0.01)
        return target

    async def get(self, path: str, **headers: str) -> tuple[int, str, Any]:
        url = URL(f"http://127.0.0.1:{self.proxy.ports[80]}{path}", encoded=True)
        async with ClientSession() as session, session.get(url, headers=headers, allow_redirects=False) as answer:
            return answer.status, await answer.text(), answer.headers


async def says_ok(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(OK)


def test_503_without_targets_502_for_a_closed_connection_504_for_a_timeout(tmp_path: Path):
    async def hangs_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async def is_silent(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.5)

    async def main() -> list[int]:
        async with Surrounded(tmp_path, template(idle_timeout=200), time_scale=0.001) as around:
            statuses = [(await around.get("/v1/x"))[0]]
            first = await around.add(hangs_up)
            statuses.append((await around.get("/v1/x"))[0])
            await around.proxy.drain("Group", first)
            await around.add(is_silent, "b")
            statuses.append((await around.get("/v1/x"))[0])
            return statuses

    assert asyncio.run(main()) == [503, 502, 504]


def test_an_unreachable_target_gives_502_and_becomes_unhealthy(tmp_path: Path):
    async def main() -> None:
        async with Surrounded(tmp_path, template(), time_scale=0.001) as around:
            target = await around.add(says_ok)
            assert (await around.get("/v1/x"))[0] == 200
            target.socket.unlink()
            assert (await around.get("/v1/x"))[0] == 502
            while target.state is State.HEALTHY:
                await asyncio.sleep(0.02)
            assert target.state is State.UNHEALTHY

    asyncio.run(main())


def test_an_idle_stream_is_closed_after_the_idle_timeout(tmp_path: Path):
    async def falls_silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        await writer.drain()
        await asyncio.sleep(1)

    async def main() -> str:
        async with Surrounded(tmp_path, template(idle_timeout=200), time_scale=0.001) as around:
            await around.add(falls_silent)
            try:
                return (await around.get("/v1/x"))[1]
            except ClientError as error:
                return type(error).__name__

    assert asyncio.run(main()) == "ClientPayloadError"


def test_paths_are_forwarded_unchanged_with_the_clients_address(tmp_path: Path):
    async def main() -> str:
        async with Surrounded(tmp_path, template()) as around:
            await around.add(says_ok)
            await around.get("/v1/a%2Fb/../c?x=%20&y", Connection="keep-alive", Cookie="c=1")
            return around.heard[0]

    head = asyncio.run(main())
    assert head.startswith("GET /v1/a%2Fb/../c?x=%20&y HTTP/1.1\r\n")
    assert "X-Forwarded-For: 127.0.0.1\r\n" in head
    assert "X-Forwarded-Proto: http\r\n" in head
    assert "X-Forwarded-Port: 80\r\n" in head
    assert "Cookie: c=1" in head
    assert "keep-alive" not in head


def test_invalid_headers_are_dropped_if_the_attribute_is_set(tmp_path: Path):
    body = json.loads(template())
    dropping = {"Key": "routing.http.drop_invalid_header_fields.enabled", "Value": "true"}
    body["Resources"]["Balancer"]["Properties"]["LoadBalancerAttributes"].append(dropping)

    async def main() -> str:
        async with Surrounded(tmp_path, json.dumps(body)) as around:
            await around.add(says_ok)
            await around.get("/v1/x", X_Odd="1", **{"X-Even": "2"})
            return around.heard[0]

    head = asyncio.run(main())
    assert "X-Even" in head
    assert "X_Odd" not in head


def test_a_redirect_keeps_parts_that_it_does_not_set(tmp_path: Path):
    to_https = {"Type": "redirect", "RedirectConfig": {"Protocol": "HTTPS", "Port": "443", "StatusCode": "HTTP_301"}}
    secure: dict[str, Any] = {
        "Secure": {
            "Type": f"{ELB}Listener",
            "Properties": {
                "LoadBalancerArn": {"Ref": "Balancer"},
                "Port": 443,
                "Protocol": "HTTPS",
                "DefaultActions": NOT_FOUND,
            },
        },
        "Api": rule(1, [paths("/v1/*")]),
    }
    secure["Api"]["Properties"]["ListenerArn"] = {"Ref": "Secure"}
    body = json.loads(template(rules={}, others=secure))
    body["Resources"]["Listener"]["Properties"]["DefaultActions"] = [to_https]

    async def main() -> tuple[int, str]:
        async with Surrounded(tmp_path, json.dumps(body)) as around:
            status, _, headers = await around.get("/v1/x?y=1", Host="chat.example.com:80")
            return status, headers["Location"]

    assert asyncio.run(main()) == (301, "https://chat.example.com:443/v1/x?y=1")


def test_a_token_is_checked_before_anything_is_forwarded(tmp_path: Path):
    config = {"Issuer": "https://i.example.com", "JwksEndpoint": "https://i.example.com/keys"}
    checked = [{"Type": "jwt-validation", "Order": 1, "JwtValidationConfig": config}, {**FORWARD[0], "Order": 2}]
    issuer = LocalIssuer()

    async def main() -> list[int]:
        options = {"keys": {config["JwksEndpoint"]: issuer.keys}}
        async with Surrounded(tmp_path, template(rules={"R": rule(1, [paths("*")], checked)}), **options) as around:
            await around.add(says_ok)
            good = issuer.token({"iss": config["Issuer"]})
            bad = issuer.token({"iss": config["Issuer"]}, seconds=-1)
            requested = [{}, {"Authorization": f"Bearer {bad}"}, {"Authorization": f"Bearer {good}"}]
            statuses = [(await around.get("/v1/x", **headers))[0] for headers in requested]
            assert len(around.heard) == 1
            return statuses

    assert asyncio.run(main()) == [401, 401, 200]
