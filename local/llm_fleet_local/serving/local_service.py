"""A whole service on this machine: tasks behind a load balancer, from one synthesized template."""

import asyncio
import shutil
import tempfile
import threading
import time
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from llm_fleet_local.serving.proxy.proxy import LogEntry, Proxy
from llm_fleet_local.serving.proxy.targets import State, Target
from llm_fleet_local.serving.proxy.tokens import Keys
from llm_fleet_local.serving.servers.account_context import AccountContext
from llm_fleet_local.serving.tasks.local_secrets import LocalSecrets
from llm_fleet_local.serving.tasks.stop_sequence import Stopped, stop_task
from llm_fleet_local.serving.tasks.task import START_SECONDS, Program, Task
from llm_fleet_local.serving.template.front import LoadBalancer
from llm_fleet_local.serving.template.problem import NotServable
from llm_fleet_local.serving.template.read_front import read_front
from llm_fleet_local.serving.template.read_service import choose_service, read_services
from llm_fleet_local.serving.template.reader import TemplateReader
from llm_fleet_local.serving.template.service import Service

_KEY_VARIABLES = ("API_KEY", "VLLM_API_KEY")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    task: Task
    target: Target


class LocalService:
    """Serves one service of a template until it is stopped; a context manager.

    Tasks are processes; the load balancer runs in a thread of this one. Raises `NotServable` for a template, or a
    container, that cannot be served.
    """

    def __init__(
        self,
        template: str,
        *,
        service: str | None = None,
        tasks: int | None = None,
        time_scale: float = 1.0,
        token_seconds: float = 0.02,
        port: int = 0,
        keys: Mapping[str, Keys] | None = None,
        normalize_paths: bool = False,
        program: Program | None = None,
        start_seconds: float = START_SECONDS,
    ) -> None:
        """Take the template's JSON.

        `service`: default the only one. `tasks`: default the number in the template. `time_scale`: local seconds per
        second of the template's settings. `token_seconds`: seconds per token. `port`: of the local load balancer; 0 is
        any free one. `keys`: key sets of token issuers, by the URLs in the template. `program`: runs instead of the
        stand-ins. `start_seconds`: time limit for a task to become healthy.
        """
        reader = TemplateReader(template)
        self.service: Service = choose_service(read_services(reader), service)
        self.front: LoadBalancer = read_front(reader, self.service.target_group)
        self._count = self.service.desired if tasks is None else tasks
        self._scale, self._token_seconds, self._port = time_scale, token_seconds, port
        self._program, self._start_seconds = program, start_seconds
        self._secrets = LocalSecrets()
        self._folder = Path(tempfile.mkdtemp(prefix="serving-"))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="local-serving", daemon=True)
        self._proxy = Proxy(self.front, time_scale=time_scale, keys=keys, normalize_paths=normalize_paths)
        self._running: list[_Running] = []
        self._made = 0

    def __enter__(self) -> Self:
        """Start it."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        self.stop()

    def start(self) -> None:
        """Start load balancer and tasks, and return when all are healthy."""
        self._thread.start()
        try:
            self._listen()
            for future in [self._begin(self._add_task()) for _ in range(self._count)]:
                future.result()
            self.wait_until_healthy(self._count)
        except BaseException:
            self.stop()
            raise

    def _listen(self) -> None:
        try:
            self._call(self._proxy.start(port=self._port))
        except OSError as error:
            raise NotServable(f"cannot listen on port {self._port}: {error}") from error

    def stop(self) -> None:
        """Kill everything immediately."""
        self._call(self._proxy.stop())
        self._call(_cancel_others())
        for running in self._running:
            running.task.kill()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        shutil.rmtree(self._folder)

    @property
    def url(self) -> str:
        """Base URL of the service, without `/v1`."""
        return self.listener_url(self._proxy.serving.port)

    def listener_url(self, port: int) -> str:
        """Return the local URL of a port's listener."""
        return f"http://127.0.0.1:{self._proxy.ports[port]}"

    @property
    def api_key(self) -> str | None:
        """The API key that the server checks; `None` when there is none."""
        sources = self.service.container.secrets
        return next((self._secrets.value(sources[name]) for name in _KEY_VARIABLES if name in sources), None)

    @property
    def tasks(self) -> list[Task]:
        """Running and stopped tasks."""
        return [running.task for running in self._running]

    @property
    def log(self) -> list[LogEntry]:
        """The requests that the load balancer received so far."""
        return list(self._proxy.log)

    def state(self, task: Task) -> State:
        """Return the state of a task's target."""
        return self._of(task).target.state

    def under_way(self, task: Task) -> int:
        """Return the number of requests in progress at a task."""
        return len(self._of(task).target.requests)

    def add_task(self) -> Task:
        """Start one more task, as a deployment or scaling does."""
        return self._call(self._add_task())

    def begin_stop(self, task: Task) -> "Future[Stopped]":
        """Begin to stop a task as ECS does, without waiting."""
        running = self._of(task)
        group = self.service.target_group
        return self._begin(stop_task(task, running.target, proxy=self._proxy, group=group, time_scale=self._scale))

    def wait_until_healthy(self, count: int) -> None:
        """Wait until `count` tasks are healthy. Raises `NotServable` when they are not in time."""
        deadline = time.monotonic() + self._start_seconds
        while sum(running.target.state is State.HEALTHY for running in self._running) < count:
            if time.monotonic() > deadline:
                logs = "\n".join(task.log[-1000:] for task in self.tasks)
                raise NotServable(f"tasks do not become healthy at {self._health_path}:\n{logs}")
            time.sleep(0.02)

    @property
    def _health_path(self) -> str:
        return self.front.target_groups[self.service.target_group].health.path

    async def _add_task(self) -> Task:
        self._made += 1
        name = f"task-{self._made}"
        interface = self._folder / name
        interface.mkdir()
        container = self.service.container
        task = Task(
            container,
            name=name,
            folder=self._folder,
            secrets=self._secrets.variables(container.secrets),
            around=AccountContext(interface=interface, time_scale=self._scale, token_seconds=self._token_seconds),
            program=self._program,
            start_seconds=self._start_seconds,
        )
        target = Target(name=name, socket=task.socket)
        self._running.append(_Running(task=task, target=target))
        await task.started()
        self._proxy.register(self.service.target_group, target)
        return task

    def _of(self, task: Task) -> _Running:
        return next(running for running in self._running if running.task is task)

    def _begin(self, work: Coroutine[Any, Any, _T]) -> "Future[_T]":
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _call(self, work: Coroutine[Any, Any, _T]) -> _T:
        return self._begin(work).result()


async def _cancel_others() -> None:
    """Cancel pending waits, e.g. for the stop of a task."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for other in others:
        other.cancel()
    await asyncio.gather(*others, return_exceptions=True)
