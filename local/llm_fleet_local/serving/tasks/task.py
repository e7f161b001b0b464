"""One task: the server's container as a process, with a network interface of its own."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from llm_fleet_local.serving.servers.account_context import AccountContext
from llm_fleet_local.serving.tasks.images import kind_of_image
from llm_fleet_local.serving.template.problem import NotServable
from llm_fleet_local.serving.template.service import ServerContainer

_ROOT = Path(__file__).parents[3]
START_SECONDS = 30.0
"""How long a container may take until it listens, unless it is said otherwise."""
Program = Callable[[ServerContainer, Path], Sequence[str]]
"""What runs in place of a container: the words that start it, which listens at the socket that it is given."""
_LONGEST_SOCKET = 100
"""Characters in a socket's path, a little below what Linux takes."""


class Task:
    """Runs the stand-in for a container's image with exactly that container's command, environment and secrets."""

    def __init__(
        self,
        container: ServerContainer,
        *,
        name: str,
        folder: Path,
        secrets: Mapping[str, str],
        around: AccountContext,
        program: Program | None = None,
        start_seconds: float = START_SECONDS,
    ) -> None:
        """Start the process. Raises `NotServable` for an image without a stand-in.

        `program`: what runs in place of the stand-in. `start_seconds`: how long it may take until it listens.
        """
        self.name = name
        self.container = container
        self.socket = around.interface / str(container.port)
        if len(str(self.socket)) > _LONGEST_SOCKET:
            raise NotServable(f"{self.socket} is too long for a socket: set TMPDIR to a shorter folder")
        self._log = folder / f"{name}.log"
        self._start_seconds = start_seconds
        words = (program or _stand_in)(container, self.socket)
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(  # noqa: S603 - our own program; a template only says with what words
                list(words),
                cwd=_ROOT,
                env={**_machine(), **around.variables, **container.environment, **secrets},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def log(self) -> str:
        """What the container has written."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self.process.poll() is None

    async def started(self) -> None:
        """Return when its port is listened at. Raises `NotServable` with its last words when it ends before."""
        deadline = time.monotonic() + self._start_seconds
        while not self.socket.exists():
            if not self.running:
                words = self.log.strip()[-2000:]
                raise NotServable(f"task {self.name} ended with {self.process.returncode} as it started:\n{words}")
            if time.monotonic() > deadline:
                raise NotServable(f"task {self.name} listens at no port {self.container.port}:\n{self.log[-2000:]}")
            await asyncio.sleep(0.02)

    async def ended(self, *, within: float) -> bool:
        """Return whether the process ends within `seconds`."""
        deadline = time.monotonic() + within
        while self.running:
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(0.01)
        return True

    def kill(self) -> None:
        """Kill it immediately, with all processes that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()


def _stand_in(container: ServerContainer, socket: Path) -> Sequence[str]:
    """Return the stand-in of the container's image; it reads its socket from its environment."""
    kind = kind_of_image(container.image)
    return [sys.executable, "-m", "llm_fleet_local.serving.servers", kind, *container.entry_point, *container.command]


def _machine() -> dict[str, str]:
    """What a process needs to run at all; nothing that could lead it to AWS, or that a container would not have."""
    return {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
