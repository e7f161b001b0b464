"""The interface of a temporary node of any back end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Done:
    """The result of a command that has ended."""

    returncode: int
    stdout: str
    stderr: str


class NodeError(RuntimeError):
    """A node could not be created, reached or ended; the message has its name and the cause."""


class CommandError(NodeError):
    """A command on a node ended with a code other than 0, or not in time (`done.returncode` is then 124)."""

    def __init__(self, node: str, command: tuple[str, ...], done: Done) -> None:
        """Set the node's name, the command and its result."""
        said = (done.stderr.strip() or done.stdout.strip())[-2000:]
        super().__init__(f"{node}: `{' '.join(command)}` ended with {done.returncode}: {said}")
        self.done = done


class Running(Protocol):
    """A running command, on a node or of a cluster's services."""

    @property
    def pid(self) -> int:
        """Its process id on the machine."""
        ...

    def poll(self) -> int | None:
        """Return its exit code; `None` while it runs."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it ends; return its exit code. Raises `subprocess.TimeoutExpired` after `timeout` seconds."""
        ...

    def kill(self) -> None:
        """Kill it and all processes of its session (SIGKILL), and wait until it has ended."""
        ...


class Node(Protocol):
    """One machine of a cluster: real systemd as PID 1, its own root, network, processes and host name."""

    @property
    def name(self) -> str:
        """Its host name, e.g. `ip-10-66-1-1`."""
        ...

    @property
    def address(self) -> str:
        """Its IPv4 address."""
        ...

    @property
    def root(self) -> Path:
        """Its whole file system as the machine sees it (with its tmpfs only while the node runs).

        Raises `NodeError` if the machine cannot see it (Docker Desktop): `read` and `write` work everywhere.
        Caution: absolute symbolic links point to files of the machine when they are followed here.
        """
        ...

    @property
    def running(self) -> bool:
        """Whether its init is running."""
        ...

    def run(
        self,
        *command: str,
        timeout: float = 60,
        env: Mapping[str, str] | None = None,
        input: str | None = None,
        check: bool = True,
    ) -> Done:
        """Run `command` as root on the node to the end. Its environment is only `env`, PATH, HOME and LANG.

        Raises `CommandError` when it takes more than `timeout` seconds, or fails and `check` is true.
        """
        ...

    def start(self, *command: str, env: Mapping[str, str] | None = None, log: Path) -> Running:
        """Start `command` as root on the node without waiting; both outputs are appended to `log` on the machine."""
        ...

    def on_terminal(self, *command: str) -> list[str]:
        """Return the command line with which the machine runs `command` on the node, with the caller's terminal.

        Raises `NodeError` when the node is off: it never runs on the machine itself.
        """
        ...

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Replace the content of its file `path` by `text`, atomically; parent folders are created."""
        ...

    def read(self, path: str) -> str:
        """Return the text in its file `path`. Raises `FileNotFoundError`."""
        ...

    def power_off(self) -> None:
        """Simulate the loss of the machine: disconnect it, then kill its processes. Its disks are kept."""
        ...

    def reboot(self) -> None:
        """Shut down (or power off, if that takes too long), then boot with the same root.

        tmpfs (instance storage, /run, /dev) is empty afterwards. A node that is off is booted.
        """
        ...

    def replace(self) -> None:
        """Power off, then boot with a fresh root under the same name and address."""
        ...

    def destroy(self) -> None:
        """Power off, and remove the node's files from the machine. A second call has no effect."""
        ...
