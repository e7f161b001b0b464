"""Clients: OpenAI's own, and one that sends any request."""

import json
import socket
from functools import cache
from typing import Any

from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletionUserMessageParam

from llm_fleet_local.serving.local_service import LocalService
from llm_fleet_local.serving.tasks.task import Task
from llm_fleet_local.serving.template.reader import TemplateReader

SECONDS = 30.0


def client(service: LocalService, key: str | None = None) -> OpenAI:
    """OpenAI's client as in the docs, without retries, so that a test gets the first answer."""
    return _client(f"{service.url}/v1", key or service.api_key or "")


@cache
def _client(url: str, key: str) -> OpenAI:
    """One for all tests: to create a client takes longer than a request."""
    return OpenAI(base_url=url, api_key=key, max_retries=0, timeout=SECONDS)


def async_client(service: LocalService) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=f"{service.url}/v1", api_key=service.api_key, max_retries=0, timeout=SECONDS)


def user(text: str) -> list[ChatCompletionUserMessageParam]:
    return [{"role": "user", "content": text}]


def numbers(last: int) -> str:
    """The answer of the stand-ins to `count to <last>`."""
    return "".join(f" {number}" for number in range(1, last + 1))


def send(
    url: str, method: str, path: str, *, key: str | None = None, body: Any = None, version: str = "1.1"
) -> tuple[int, str]:
    """Send a request exactly as written, and return its status and the whole response."""
    address, _, port = url.removeprefix("http://").partition(":")
    text = "" if body is None else json.dumps(body)
    lines = [
        f"{method} {path} HTTP/{version}",
        "Host: chat.example.com",
        "Connection: close",
        "Content-Type: application/json",
        f"Content-Length: {len(text)}",
        *([f"Authorization: Bearer {key}"] if key else []),
    ]
    with socket.create_connection((address, int(port)), timeout=SECONDS) as connection:
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n" + text).encode())
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
    head, _, rest = received.decode().partition("\r\n\r\n")
    return int(head.split()[1]), f"{head}\r\n\r\n{rest}"


def get_from_task(task: Task, path: str) -> list[str]:
    """Return the lines of a task's answer to another container of the task, without the load balancer."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(task.socket))
        connection.sendall(f"GET {path} HTTP/1.0\r\nHost: task\r\n\r\n".encode())
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
    return received.decode().partition("\r\n\r\n")[2].splitlines()


def collector_scrape(template: str, service: str) -> dict[str, Any]:
    """Return the scrape configuration of the collector in a service's task."""
    for task in TemplateReader(template).of_type("AWS::ECS::TaskDefinition").values():
        for container in task["ContainerDefinitions"]:
            environment = {item["Name"]: item["Value"] for item in container.get("Environment", [])}
            if "AOT_CONFIG_CONTENT" not in environment:
                continue
            receivers = json.loads(environment["AOT_CONFIG_CONTENT"])["receivers"]
            (scrape,) = receivers["prometheus"]["config"]["scrape_configs"]
            if scrape["static_configs"][0]["labels"]["ServiceName"] == service:
                return scrape
    raise AssertionError(f"{service} has no collector")
