"""A node that is a container of Docker or Podman."""

from __future__ import annotations

import itertools
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from llm_fleet_local.drill.nodes.backend import NodePlan
from llm_fleet_local.drill.nodes.docker_engine import Engine
from llm_fleet_local.drill.nodes.node import CommandError, Done, NodeError
from llm_fleet_local.drill.nodes.processes import Started
from llm_fleet_local.drill.nodes.unshare_node import BOOT_DEADLINE, ENVIRONMENT, SHUT_DOWN_DEADLINE, hardware_address

_FIRST = Path(__file__).with_name("first.sh")
_MARK = "LLM_FLEET_DRILL_COMMAND"
"""Environment variable that marks the processes of one command: they do not end when the engine's client is killed."""
_KILL_MARKED = """
for place in /proc/[0-9]*; do
  if grep -qzx "$1" "$place/environ" 2>/dev/null; then kill -KILL "${place#/proc/}"; fi
done
"""
_WRITE = """
umask 077
target=$(realpath -m "$1")
mkdir -p -m 755 "$(dirname "$target")"
cat >"$target.drill" && chmod "$2" "$target.drill" && mv "$target.drill" "$target"
"""


class DockerNode:
    """See `llm_fleet_local.drill.nodes.node.Node`."""

    def __init__(self, plan: NodePlan, engine: Engine, image: str, container: str, network: str, gateway: str) -> None:
        """Set the plan of the node, its image, container name and network; nothing is created yet."""
        self._plan = plan
        self._engine = engine
        self._image = image
        self._container = container
        self._network = network
        self._gateway = gateway
        self._commands = itertools.count()

    @property
    def name(self) -> str:
        """Its host name."""
        return self._plan.name

    @property
    def address(self) -> str:
        """Its IPv4 address."""
        return self._plan.address

    @property
    def root(self) -> Path:
        """Its file system as the machine sees it. Raises `NodeError` if it cannot, or if the node is off."""
        pid = self._engine.run("inspect", "--format={{.State.Pid}}", self._container).stdout.strip()
        place = Path(f"/proc/{pid}/root")
        if pid == "0" or not os.access(place / "etc", os.R_OK):
            raise NodeError(f"this machine cannot see the file system of {self.name}: use `read` and `write`")
        return place

    @property
    def running(self) -> bool:
        """Whether its init is running."""
        done = self._engine.run("inspect", "--format={{.State.Running}}", self._container, check=False)
        return done.stdout.strip() == "true"

    def create(self) -> None:
        """Create the container and boot the node."""
        self._engine.run(*self.creation())
        self._await_boot()

    def creation(self) -> list[str]:
        """Return the engine's command that creates and starts the container."""
        volumes = [f"--volume={what.absolute()}:{where}" for where, what in self._plan.shared.items()]
        volumes += [
            f"--tmpfs={where}:rw,exec,dev,suid,mode=755,size={size}" for where, size in self._plan.tmpfs.items()
        ]
        return [
            "run",
            "--detach",
            f"--name={self._container}",
            f"--hostname={self.name}",
            f"--network={self._network}",
            f"--ip={self.address}",
            # Other nodes cache the MAC address of a replaced node.
            f"--mac-address={hardware_address(self.address)}",
            "--env=container=llm-fleet-drill",
            "--tmpfs=/run:rw,exec,mode=755",
            *volumes,
            *self._engine.container_options(),
            # Not SIGRTMIN+3: systemd would halt and not end.
            "--stop-signal=SIGRTMIN+4",
            "--entrypoint=/bin/bash",
            self._image,
            "-c",
            _FIRST.read_text(),
            "first.sh",
            self.name,
            self._gateway,
            *self._engine.init_arguments(),
        ]

    def run(
        self,
        *command: str,
        timeout: float = 60,
        env: Mapping[str, str] | None = None,
        input: str | None = None,
        check: bool = True,
    ) -> Done:
        """Run `command` as its root to the end; see `Node.run`."""
        mark, variables = self._marked(env)
        process = subprocess.Popen(
            self._entering(command, variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_for_client(variables),
            encoding="utf-8",
            errors="replace",
        )
        try:
            stdout, stderr = process.communicate(input or "", timeout)
        except subprocess.TimeoutExpired:
            self._kill(mark)
            stdout, stderr = process.communicate()
            raise CommandError(self.name, command, Done(124, stdout, f"{stderr}\nnot done in {timeout:g} s")) from None
        done = Done(process.returncode, stdout, stderr)
        if check and done.returncode:
            raise CommandError(self.name, command, done)
        return done

    def start(self, *command: str, env: Mapping[str, str] | None = None, log: Path) -> Started:
        """Start `command` as its root without waiting; see `Node.start`."""
        mark, variables = self._marked(env)
        return _StartedInside(
            self._entering(command, variables), log=log, env=_for_client(variables), kill=lambda: self._kill(mark)
        )

    def on_terminal(self, *command: str) -> list[str]:
        """Return `command` as the machine runs it on the node; see `Node.on_terminal`."""
        self._require_on()
        return [*self._engine.program, "exec", "--interactive", "--tty", self._container, *command]

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Replace the content of its file `path` by `text`, atomically."""
        self.run("sh", "-ec", _WRITE, "write", path, f"{mode:o}", input=text)

    def read(self, path: str) -> str:
        """Return the text in its file `path`."""
        self._require_on()
        if self.run("test", "-e", path, check=False).returncode:
            raise FileNotFoundError(f"{self.name} has no {path}")
        # Not by `run`, which would convert line endings.
        return subprocess.run(
            self._entering(("cat", path), {}), stdin=subprocess.DEVNULL, capture_output=True, check=True
        ).stdout.decode()

    def power_off(self) -> None:
        """Simulate the loss of the machine: first disconnect it, then kill its processes."""
        self._engine.run("exec", self._container, "ip", "link", "set", "eth0", "down", check=False)
        self._engine.run("kill", self._container, check=False)

    def reboot(self) -> None:
        """Shut down in order, then boot with the same root."""
        if self.running:
            self._engine.run("stop", f"--time={SHUT_DOWN_DEADLINE:.0f}", self._container, check=False)
        self._engine.run("start", self._container)
        self._await_boot()

    def replace(self) -> None:
        """Power off, then boot with a fresh root under the same name and address."""
        self.destroy()
        self.create()

    def destroy(self) -> None:
        """Power off, and remove the container and its files."""
        self.power_off()
        self._engine.run("rm", "--force", "--volumes", self._container, check=False)

    def _marked(self, env: Mapping[str, str] | None) -> tuple[str, dict[str, str]]:
        self._require_on()
        mark = f"{os.getpid()}-{next(self._commands)}"
        return mark, {**ENVIRONMENT, **(env or {}), _MARK: mark}

    def _entering(self, command: tuple[str, ...], variables: Mapping[str, str]) -> list[str]:
        # Values may be secrets: they are in the client's environment, and only their names are in its command line.
        # The client itself requires its own PATH and HOME.
        named = [
            f"--env={name}={value}" if name in ENVIRONMENT else f"--env={name}" for name, value in variables.items()
        ]
        return [*self._engine.program, "exec", "--interactive", *named, self._container, *command]

    def _kill(self, mark: str) -> None:
        self._engine.run("exec", self._container, "sh", "-c", _KILL_MARKED, "kill", f"{_MARK}={mark}", check=False)

    def _require_on(self) -> None:
        if not self.running:
            raise NodeError(f"{self.name} is off")

    def _await_boot(self) -> None:
        end = time.monotonic() + BOOT_DEADLINE
        while True:
            requested = ("exec", self._container, "systemctl", "is-system-running", "--wait")
            state = self._engine.run(*requested, check=False, timeout=BOOT_DEADLINE).stdout.strip()
            if state in ("running", "degraded"):
                return
            if not self.running:
                said = self._engine.run("logs", self._container, check=False)
                raise NodeError(f"{self.name} did not boot: {(said.stdout + said.stderr)[-2000:] or 'no output'}")
            if time.monotonic() > end:
                raise NodeError(f"{self.name} has not booted in {BOOT_DEADLINE:.0f} s: it is {state or 'silent'}")
            time.sleep(0.1)


def _for_client(variables: Mapping[str, str]) -> dict[str, str]:
    return {**os.environ, **{name: value for name, value in variables.items() if name not in ENVIRONMENT}}


class _StartedInside(Started):
    """A command in a container; its processes are killed in the container."""

    def __init__(self, command: list[str], *, log: Path, env: Mapping[str, str], kill: Callable[[], None]) -> None:
        super().__init__(command, log=log, env=env)
        self._kill_inside = kill

    def kill(self) -> None:
        self._kill_inside()
        super().kill()
