"""Tasks as ECS starts and stops them: real processes."""

import asyncio
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, UnixConnector

from llm_fleet_local.serving.proxy.proxy import Proxy
from llm_fleet_local.serving.proxy.targets import Target
from llm_fleet_local.serving.servers.account_context import AccountContext
from llm_fleet_local.serving.tasks.images import kind_of_image
from llm_fleet_local.serving.tasks.stop_sequence import Stopped, stop_task
from llm_fleet_local.serving.tasks.task import Task
from llm_fleet_local.serving.template.problem import NotServable
from llm_fleet_local.serving.template.read_front import read_front
from llm_fleet_local.serving.template.read_service import read_services
from llm_fleet_local.serving.template.reader import TemplateReader
from tests.local.serving.servers.test_vllm import HUGGING_FACE
from tests.local.serving.templates import TGI_ENVIRONMENT, server, template

VLLM = "763104351884.dkr.ecr.us-west-2.amazonaws.com/huggingface-vllm-inference-neuronx:0.11.0"
SCALE = 0.01


def task(folder: Path, container: Mapping[str, Any], *, token_seconds: float = 0.01) -> Task:
    (service,) = read_services(TemplateReader(template(container=container)))
    around = AccountContext(interface=folder, time_scale=SCALE, token_seconds=token_seconds)
    return Task(service.container, name="task-1", folder=folder, secrets={}, around=around)


def asks(count: int, model: str) -> dict[str, Any]:
    return {"model": model, "stream": True, "messages": [{"role": "user", "content": f"count to {count}"}]}


async def streamed(task: Task, count: int, begun: asyncio.Event) -> str:
    text = b""
    async with (
        ClientSession(connector=UnixConnector(str(task.socket))) as session,
        session.post("http://task/v1/chat/completions", json=asks(count, "chat")) as answer,
    ):
        async for chunk in answer.content.iter_any():
            text += chunk
            begun.set()
    return text.decode()


async def reported_to_end(task: Task, count: int) -> tuple[str, bool]:
    """Return a stream that is open at SIGTERM, and whether the process ended by itself."""
    try:
        await task.started()
        begun = asyncio.Event()
        stream = asyncio.ensure_future(streamed(task, count, begun))
        await begun.wait()
        task.process.send_signal(signal.SIGTERM)
        return await stream, await task.ended(within=3)
    finally:
        task.kill()


def test_tgi_lets_streams_end_before_it_ends(tmp_path: Path):
    text, ended = asyncio.run(reported_to_end(task(tmp_path, server(key=None)), 30))
    assert '" 30"' in text
    assert ended


def test_tgi_stops_streams_after_its_grace_period(tmp_path: Path):
    environment = {**TGI_ENVIRONMENT, "GRACEFUL_TERMINATION_TIMEOUT": "20"}
    with pytest.raises(Exception, match="Response payload is not completed"):
        asyncio.run(reported_to_end(task(tmp_path, server(key=None, environment=environment)), 200))


def test_vllm_stops_streams_immediately(tmp_path: Path):
    container = server(
        image=VLLM, environment={}, key=None, entry_point=tuple(HUGGING_FACE[:3]), command=tuple(HUGGING_FACE[3:])
    )
    text, ended = asyncio.run(reported_to_end(task(tmp_path, container), 100))
    assert "InternalServerError" in text
    assert '" 100"' not in text
    assert ended


def test_a_task_has_only_its_containers_environment_and_ends_with_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "mine")
    monkeypatch.setenv("MODEL_ID", "mine")
    environment = {name: value for name, value in TGI_ENVIRONMENT.items() if name != "MODEL_ID"}
    failing = task(tmp_path, server(environment=environment))
    with pytest.raises(NotServable, match="ended with 2 as it started:\nNo model id provided"):
        asyncio.run(failing.started())
    failing.kill()


def test_ecs_waits_for_the_deregistration_delay_then_sends_sigterm_then_kills(tmp_path: Path):
    """Tested with a stopped process, which cannot react to SIGTERM."""

    async def main() -> tuple[Stopped, float]:
        body = template(attributes={"deregistration_delay.timeout_seconds": "30"})
        proxy = Proxy(read_front(TemplateReader(body), "Group"), time_scale=SCALE)
        await proxy.start()
        stubborn = task(tmp_path, server(key=None, stop_timeout=10))
        await stubborn.started()
        target = Target(name="task-1", socket=stubborn.socket)
        proxy.register("Group", target)
        stubborn.process.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        stopped = await stop_task(stubborn, target, proxy=proxy, group="Group", time_scale=SCALE)
        took = time.monotonic() - begun
        await proxy.stop()
        return stopped, took

    stopped, took = asyncio.run(main())
    assert stopped == Stopped(exit_code=-signal.SIGKILL, killed=True)
    assert took >= 30 * SCALE + 10 * SCALE


def test_processes_that_a_container_started_end_with_it(tmp_path: Path):
    """A real vLLM has several processes, and all of them end with the container."""
    child = tmp_path / "child"
    script = f"sleep 300 & echo $! >{child}.draft; mv {child}.draft {child}; wait"
    (service,) = read_services(TemplateReader(template(container=server(key=None))))
    parent = Task(
        service.container,
        name="task-1",
        folder=tmp_path,
        secrets={},
        around=AccountContext(interface=tmp_path),
        program=lambda _container, _socket: ["sh", "-c", script],
    )
    deadline = time.monotonic() + 20
    while not child.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    parent.kill()
    place = Path("/proc", child.read_text().strip(), "stat")
    while place.exists() and place.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline, "the child runs on"
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("image", "kind"),
    [
        ("ghcr.io/huggingface/text-generation-inference:3.3.5-neuron", "tgi"),
        (VLLM, "hugging-face-vllm"),
        ("ghcr.io/huggingface/optimum-neuron-vllm@sha256:0", "hugging-face-vllm"),
        ("public.ecr.aws/neuron/pytorch-inference-vllm-neuronx:0.13.0", "aws-vllm"),
        ("public.ecr.aws/neuron/pytorch-inference-vllm-neuronx:0.29.0.1.2.0-neuronx-py314", "aws-vllm-neuron"),
    ],
)
def test_an_image_is_recognized_by_its_repository(image: str, kind: str):
    assert kind_of_image(image) == kind


def test_an_unknown_image_is_rejected_by_name():
    with pytest.raises(NotServable, match=r"no stand-in for image example.com/mine:1"):
        kind_of_image("example.com/mine:1")
