"""The command line of Docker or Podman; all differences between the two are in this file."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llm_fleet_local.drill.nodes.node import Done, NodeError

_SYS_RESOURCE = 24
"""Number of the capability CAP_SYS_RESOURCE, see capabilities(7)."""


@dataclass(frozen=True)
class Engine:
    """An engine that answers."""

    program: tuple[str, ...]
    """The program and its global options, e.g. `("docker",)`."""
    name: str
    """`docker` or `podman`."""
    legacy_groups: bool
    """Whether the engine uses cgroup v1, alone or together with v2."""
    may_raise_limits: bool
    """Whether the engine may raise resource limits of containers above its own; false in some sandboxes."""

    def run(
        self,
        *arguments: str,
        input: str | None = None,
        env: Mapping[str, str] | None = None,
        check: bool = True,
        timeout: float = 120,
    ) -> Done:
        """Run one of its commands to the end. Raises `NodeError` when it fails and `check` is true."""
        try:
            done = subprocess.run(
                [*self.program, *arguments],
                input=input,
                stdin=subprocess.DEVNULL if input is None else None,
                capture_output=True,
                env=env,
                timeout=timeout,
                encoding="utf-8",
                errors="replace",
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise NodeError(f"`{self.name} {' '.join(arguments)}` did not end in {timeout:g} s") from error
        if check and done.returncode:
            raise NodeError(f"`{self.name} {' '.join(arguments)}` ended with {done.returncode}: {done.stderr.strip()}")
        return Done(done.returncode, done.stdout, done.stderr)

    def container_options(self) -> list[str]:
        """Return the options that make a container a node: control groups for systemd, and most capabilities of root.

        Not `--privileged`, which would add the machine's disks. Tested with Podman 4.3 and runc on cgroup v1; not
        tested with cgroup v2 alone.
        """
        options = ["--cap-add=ALL"]
        dropped = ["SYS_TIME", "SYS_MODULE", "SYS_RAWIO", *([] if self.may_raise_limits else ["SYS_RESOURCE"])]
        options += [f"--cap-drop={capability}" for capability in dropped]
        options += ["--security-opt=seccomp=unconfined", "--security-opt=apparmor=unconfined"]
        if not self.may_raise_limits:
            options += ["--ulimit=nofile=20000:20000", "--ulimit=nproc=16384:16384"]
        if not self.legacy_groups:
            return [*options, "--cgroupns=private"]
        # first.sh mounts the hierarchies. With a private cgroup namespace, the systemd of every node would use the
        # machine's root group of its hierarchy.
        return [*options, "--cgroupns=host", "--volume=/sys/fs/cgroup:/control-groups:rw"]

    def init_arguments(self) -> list[str]:
        """Return the options of the node's systemd (see `UnshareNode`)."""
        legacy = ["SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1", "systemd.unified_cgroup_hierarchy=0"]
        return legacy if self.legacy_groups else []


def clear_containers(engine: Engine, cluster: str) -> None:
    """Remove the cluster's containers and its network, if they exist."""
    listed = engine.run("ps", "--all", "--quiet", f"--filter=name=^{cluster_name(cluster)}-")
    if containers := listed.stdout.split():
        engine.run("rm", "--force", "--volumes", *containers)
    networks = engine.run("network", "ls", "--format={{.Name}}").stdout.split()
    if cluster_name(cluster) in networks:
        engine.run("network", "rm", cluster_name(cluster))


def cluster_name(cluster: str) -> str:
    """Return the name of a cluster's network in the engine. Names of containers add a dash and the node's name."""
    return f"llm-fleet-drill-{cluster}"


def find_engine(names: Sequence[str] = ("docker", "podman")) -> Engine | None:
    """Return the first engine of `names` that answers; `None` when none does."""
    for name in names:
        if shutil.which(name) and (info := _info(name)) is not None:
            return _engine(name, info)
    return None


def _engine(name: str, info: Mapping[str, Any]) -> Engine:
    version = str(info["CgroupVersion"] if name == "docker" else info["host"]["cgroupVersion"]).removeprefix("v")
    legacy = version == "1"
    if name == "docker":
        return Engine((name,), name, legacy, _may_raise_limits())
    # Podman's warnings would be mixed with the output of commands. crun, its default, rejects v1 together with v2.
    options = ["--log-level=error", *(["--runtime=runc"] if legacy else [])]
    program = (name, *options)
    return Engine(program, name, legacy, _may_raise_limits())


def _info(name: str) -> Mapping[str, Any] | None:
    try:
        done = subprocess.run(
            [name, "info", "--format={{json .}}"], capture_output=True, text=True, timeout=20, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        return None
    info: dict[str, Any] = json.loads(done.stdout)
    # Docker's client also answers when its engine does not run: with an error, and in some versions with exit code 0.
    return None if info.get("ServerErrors") else info


def _may_raise_limits(status: Path = Path("/proc/self/status")) -> bool:
    """Whether this process may raise limits, and so an engine on this machine. Not valid for an engine in a VM."""
    if platform.system() != "Linux":
        return True
    line = next(line for line in status.read_text().splitlines() if line.startswith("CapBnd:"))
    return bool(int(line.split()[1], 16) >> _SYS_RESOURCE & 1)
