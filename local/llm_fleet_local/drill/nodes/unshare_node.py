"""A node on plain Linux: namespaces, an overlay of the image as its root, and systemd as its first process."""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from llm_fleet_local.drill.image.prerequisites import APART, MissingPrerequisite
from llm_fleet_local.drill.network.cluster_network import JOIN, ClusterNetwork
from llm_fleet_local.drill.nodes.backend import NodePlan
from llm_fleet_local.drill.nodes.control_groups import ControlGroups, is_legacy
from llm_fleet_local.drill.nodes.inside import inside
from llm_fleet_local.drill.nodes.node import CommandError, Done, NodeError
from llm_fleet_local.drill.nodes.processes import Started, kill_session
from llm_fleet_local.drill.socket_name import short_name

BOOT = Path(__file__).with_name("boot.sh")
BOOT_DEADLINE = 180.0
"""Seconds; 64 nodes that boot in parallel on two cores take much less than half of it."""
SHUT_DOWN_DEADLINE = 20.0
"""Seconds in which services must end before the node is powered off."""
_HALT = signal.SIGRTMIN + 4
"""Signal at which systemd ends all services and then itself, see systemd(1)."""
_ENTER = ("--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup")
_CAPABILITIES = "--bounding-set=-sys_time,-sys_module,-sys_rawio"
"""Capabilities that root does not have on a node, because they would affect the machine. Also in boot.sh."""
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/slurm/bin:/opt/slurm/sbin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
}
"""Minimum environment of commands on a node."""


class UnshareNode:
    """See `llm_fleet_local.drill.nodes.node.Node`."""

    def __init__(
        self, plan: NodePlan, layers: tuple[Path, ...], folder: Path, groups: ControlGroups, network: ClusterNetwork
    ) -> None:
        """Set the node's plan, image layers, folder and network; nothing is created yet."""
        self._plan = plan
        self._layers = layers
        self._folder = folder
        self._groups = groups
        self._network = network
        self._cable = network.next_cable()
        self._process: subprocess.Popen[bytes] | None = None
        self._init = 0
        self._incarnations = itertools.count()

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
        """Its file system as the machine sees it; see `Node.root`."""
        return Path(f"/proc/{self._init}/root") if self.running else self._folder / "root"

    @property
    def running(self) -> bool:
        """Whether its init is running."""
        return self._process is not None and self._process.poll() is None and self._init != 0

    def create(self) -> None:
        """Create its root and boot the node."""
        for part in ("root", "notify"):
            (self._folder / part).mkdir(parents=True)
        self._fresh_root()
        self._boot()

    def run(
        self,
        *command: str,
        timeout: float = 60,
        env: Mapping[str, str] | None = None,
        input: str | None = None,
        check: bool = True,
    ) -> Done:
        """Run `command` as its root to the end; see `Node.run`."""
        process = subprocess.Popen(
            self._entering(command),
            stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**ENVIRONMENT, **(env or {})},
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        try:
            stdout, stderr = process.communicate(input, timeout)
        except subprocess.TimeoutExpired:
            kill_session(process)
            stdout, stderr = process.communicate()
            raise CommandError(self.name, command, Done(124, stdout, f"{stderr}\nnot done in {timeout:g} s")) from None
        except BaseException:
            kill_session(process)
            raise
        done = Done(process.returncode, stdout, stderr)
        if check and done.returncode:
            raise CommandError(self.name, command, done)
        return done

    def start(self, *command: str, env: Mapping[str, str] | None = None, log: Path) -> Started:
        """Start `command` as its root without waiting; see `Node.start`."""
        return Started(self._entering(command), log=log, env={**ENVIRONMENT, **(env or {})})

    def on_terminal(self, *command: str) -> list[str]:
        """Return `command` as the machine runs it on the node; see `Node.on_terminal`."""
        return self._entering(command)

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Replace the content of its file `path` by `text`, atomically."""
        target = inside(self.root, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with open(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.chmod(draft, mode)
        os.replace(draft, target)

    def read(self, path: str) -> str:
        """Return the text in its file `path`."""
        with open(inside(self.root, path), encoding="utf-8", newline="") as file:
            return file.read()

    def power_off(self) -> None:
        """Simulate the loss of the machine: first the network, because the kernel closes a process's connections."""
        self._network.cut(self._cable)
        self._groups.kill()
        if self._process is not None:
            self._process.wait()
        self._init = 0

    def reboot(self) -> None:
        """Shut down in order, then boot with the same root."""
        self._shut_down()
        self.power_off()
        self._boot()

    def replace(self) -> None:
        """Power off, then boot with a fresh root under the same name and address."""
        self.power_off()
        self._remove_root()
        self._fresh_root()
        self._boot()

    def destroy(self) -> None:
        """Power off, and remove the node's files from the machine."""
        self.power_off()
        self._remove_root()
        self._groups.remove()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _shut_down(self) -> None:
        if self._process is None or not self.running:
            return
        os.kill(self._init, _HALT)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(SHUT_DOWN_DEADLINE)

    def _entering(self, command: tuple[str, ...]) -> list[str]:
        """Return the command line that runs `command` in the namespaces and control groups of the node's init."""
        if not self.running:
            raise NodeError(f"{self.name} is off")
        places = map(str, self._groups.of_process(self._init))
        enter = ["nsenter", f"--target={self._init}", *_ENTER]
        return ["bash", str(JOIN), *places, "--", "setpriv", _CAPABILITIES, *enter, "--", *command]

    def _fresh_root(self) -> None:
        for part in ("upper", "work"):
            (self._folder / part).mkdir()
        layers = ":".join(map(str, self._layers))
        options = f"lowerdir={layers},upperdir={self._folder / 'upper'},workdir={self._folder / 'work'}"
        mount = ["mount", "-t", "overlay", "-o", options, "overlay", str(self._folder / "root")]
        done = subprocess.run(mount, check=False, capture_output=True, text=True)
        if done.returncode:
            raise MissingPrerequisite(
                f"{self._folder} cannot be mounted as an overlay: {done.stderr.strip()}",
                "set LLM_FLEET_LOCAL_FOLDER to a folder on a local file system, e.g. ext4 or xfs: an overlay, as in a "
                "container, cannot hold another one",
            )
        identity = hashlib.md5(os.urandom(16), usedforsecurity=False).hexdigest()
        for path, text in (("etc/hostname", self.name), ("etc/machine-id", identity)):
            (self._folder / "root" / path).write_text(f"{text}\n")

    def _remove_root(self) -> None:
        subprocess.run(["umount", "--recursive", str(self._folder / "root")], check=False, stderr=subprocess.DEVNULL)
        for part in ("upper", "work"):
            shutil.rmtree(self._folder / part, ignore_errors=True)

    def _boot(self) -> None:
        self._groups.remove()
        self._groups.make()
        mounts = [f"shared\t{where}\t{what.absolute()}\n" for where, what in self._plan.shared.items()]
        mounts += [f"tmpfs\t{where}\t{size}\n" for where, size in self._plan.tmpfs.items()]
        (self._folder / "mounts").write_text("".join(mounts))
        (self._folder / "init").unlink(missing_ok=True)
        with _notifications(self._folder / "notify") as ready, open(self._folder / "console.log", "ab") as console:
            self._process = subprocess.Popen(
                self._booting(), env=self._environment(), stdin=subprocess.DEVNULL, stdout=console, stderr=console
            )
            self._await_boot(ready)

    def _booting(self) -> list[str]:
        groups = [*map(str, self._groups.places), "--"]
        # Debian 13's systemd rejects cgroup v1 without two options; the node has its own "kernel command line".
        legacy = ["SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1", "systemd.unified_cgroup_hierarchy=0"] if is_legacy() else []
        return ["bash", str(JOIN), *groups, *APART, "--kill-child", "bash", str(BOOT), str(self._folder), *legacy]

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "DRILL_NAME": self.name,
            "DRILL_ADDRESS": self.address,
            "DRILL_PREFIX": str(self._network.prefix),
            "DRILL_GATEWAY": self._network.services_address,
            "DRILL_CLUSTER_NETNS": str(self._network.namespace),
            "DRILL_CABLE": self._cable,
            "DRILL_MAC": hardware_address(self.address),
        }

    def _await_boot(self, ready: socket.socket) -> None:
        assert self._process is not None
        end = time.monotonic() + BOOT_DEADLINE
        said = ""
        while "READY=1" not in said.splitlines():
            with suppress(TimeoutError):
                said = ready.recv(4096).decode(errors="replace")
            if self._process.poll() is not None:
                raise NodeError(f"{self.name} did not boot: {self._console()}")
            if time.monotonic() > end:
                raise NodeError(f"{self.name} has not booted in {BOOT_DEADLINE:.0f} s: {self._console()}")
        self._init = int((self._folder / "init").read_text())

    def _console(self) -> str:
        return (self._folder / "console.log").read_text(errors="replace")[-2000:] or "no output"


def hardware_address(address: str) -> str:
    """Return the MAC address of the node with that IPv4 address, the same each time it is created."""
    return "02:42:" + ":".join(f"{int(number):02x}" for number in address.split("."))


class _notifications:
    """The socket on which a node's systemd says that it has booted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> socket.socket:
        (self._folder / "socket").unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.settimeout(0.5)
        with short_name(self._folder / "socket") as name:
            self._socket.bind(name)
        return self._socket

    def __exit__(self, *_: object) -> None:
        self._socket.close()
