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
    """A node could not be made, reached or ended; the message says which and why."""


class CommandError(NodeError):
    """A command on a node ended with a code other than 0, or not in time (`done.returncode` is then 124)."""

    def __init__(self, node: str, command: tuple[str, ...], done: Done) -> None:
        """Take the node's name, what was run on it and how that ended."""
        said = (done.stderr.strip() or done.stdout.strip())[-2000:]
        super().__init__(f"{node}: `{' '.join(command)}` ended with {done.returncode}: {said}")
        self.done = done


class Running(Protocol):
    """A running command, on a node or of a cluster's services."""

    @property
    def pid(self) -> int:
        """Its process, as the machine counts it."""
        ...

    def poll(self) -> int | None:
        """Return its exit code; `None` while it runs."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Return its exit code once it ends. Raises `subprocess.TimeoutExpired` after `timeout` seconds."""
        ...

    def kill(self) -> None:
        """Kill it and all that it started in its session (SIGKILL), and wait until it is gone."""
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
        """Its whole file system as the machine sees it (with its tmpfs while it runs, without once it is off).

        Raises `NodeError` where the machine cannot see it (Docker Desktop): `read` and `write` work everywhere.
        Mind absolute symbolic links: seen from the machine they point into the machine.
        """
        ...

    @property
    def running(self) -> bool:
        """Whether its init lives."""
        ...

    def run(
        self,
        *command: str,
        timeout: float = 60,
        env: Mapping[str, str] | None = None,
        input: str | None = None,
        check: bool = True,
    ) -> Done:
        """Run `command` as its root to the end. It gets only `env`, PATH, HOME and LANG.

        Raises `CommandError` when it ends with another code than 0 (unless not `check`) or not in `timeout` seconds.
        """
        ...

    def start(self, *command: str, env: Mapping[str, str] | None = None, log: Path) -> Running:
        """Start `command` as its root without waiting; both outputs are added to the machine's file `log`."""
        ...

    def on_terminal(self, *command: str) -> list[str]:
        """Return `command` as the machine runs it on the node, with the caller's terminal.

        Raises `NodeError` when the node is off: it never runs on the machine itself.
        """
        ...

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Make its file `path` hold `text`, whole or not at all; folders above are made."""
        ...

    def read(self, path: str) -> str:
        """Return the text in its file `path`. Raises `FileNotFoundError`."""
        ...

    def power_off(self) -> None:
        """Simulate the loss of the machine: disconnect it, then kill its processes. Its disks stay."""
        ...

    def reboot(self) -> None:
        """Shut down in order (or power off, where that takes too long), then boot with the same root.

        tmpfs (instance storage, /run, /dev) comes up empty. A node that is off is booted.
        """
        ...

    def replace(self) -> None:
        """Power off, then boot with a fresh root under the same name and address."""
        ...

    def destroy(self) -> None:
        """Power off and remove all that the machine holds of it. Doing so again does nothing."""
        ...
