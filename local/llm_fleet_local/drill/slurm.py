"""Queries the drill's Slurm with Slurm's commands on one of its nodes."""

import re
import time
from dataclasses import dataclass

from llm_fleet_local.drill.nodes.node import Done, Node

_BIN = "/opt/slurm/bin"
_PAUSE = 0.2


class NotInTime(AssertionError):
    """A condition was not met before its deadline; the message has the last state."""


@dataclass(frozen=True)
class Job:
    """A job, as Slurm shows it."""

    state: str
    """E.g. `RUNNING`."""
    nodes: tuple[str, ...]
    """Host names."""
    restarts: int
    ended: str = ""
    """Why it is in its state, e.g. `exit code 1:0, reason NonZeroExitCode`; the first number is an exit code, the
    second a signal."""


class Slurm:
    """Slurm as seen from one node."""

    def __init__(self, node: Node) -> None:
        """Set the node that runs the commands: the controller, or a login node."""
        self._node = node

    def run(self, program: str, *arguments: str, check: bool = True, timeout: float = 60) -> Done:
        """Run a program of Slurm to its end. Raises `CommandError`."""
        return self._node.run(f"{_BIN}/{program}", *arguments, check=check, timeout=timeout)

    def states(self) -> dict[str, str]:
        """Return each node's state by host name, e.g. `idle`, `down*`."""
        lines = self.run("sinfo", "--noheader", "--Node", "--format=%N %T").stdout.splitlines()
        return {host: state for host, _, state in (line.partition(" ") for line in lines)}

    def reasons(self) -> dict[str, str]:
        """Return the reasons of nodes by host name, for nodes with a reason."""
        lines = self.run("scontrol", "--oneliner", "show", "nodes").stdout.splitlines()
        found = [re.search(r"NodeName=(\S+) .*?\bReason=(.*?)(?: \[\S+@\S+\])?$", line.strip()) for line in lines]
        return {match[1]: match[2] for match in found if match}

    def hosts_of(self, *arguments: str, timeout: float = 60) -> list[str]:
        """Run `hostname` by srun with `arguments`; return the host names, sorted."""
        return sorted(self.run("srun", *arguments, "hostname", timeout=timeout).stdout.split())

    def submit(self, script: str, *arguments: str) -> str:
        """Submit the batch script; return the job's id."""
        done = self._node.run(f"{_BIN}/sbatch", "--parsable", *arguments, input=script)
        return done.stdout.strip().partition(";")[0]

    def job(self, job_id: str) -> Job:
        """Return the job with that id."""
        shown = self.run("scontrol", "--oneliner", "show", "job", job_id).stdout
        fields = _fields(shown)
        return Job(
            fields["JobState"],
            tuple(self.expand(fields.get("NodeList", ""))),
            int(fields.get("Restarts", "0")),
            f"exit code {fields.get('ExitCode')}, reason {fields.get('Reason')}",
        )

    def expand(self, hosts: str) -> list[str]:
        """Return the names in a host list such as `ip-10-1-0-[4-6]`."""
        if not hosts or hosts in ("(null)", "None"):
            return []
        if "[" not in hosts:
            return hosts.split(",")
        return self.run("scontrol", "show", "hostnames", hosts).stdout.split()

    def wait_until_registered(self, host: str, *, seconds: float) -> None:
        """Wait until slurmd of `host` has registered with slurmctld. Raises `NotInTime`."""
        deadline = time.monotonic() + seconds
        while self.states().get(host, "*").endswith("*") or self._node_field(host, "SlurmdStartTime") == "None":
            if time.monotonic() > deadline:
                raise NotInTime(f"{host} is not registered within {seconds:g} s: {self.states()}")
            time.sleep(_PAUSE)

    def _node_field(self, host: str, name: str) -> str:
        shown = self.run("scontrol", "--oneliner", "show", "node", host).stdout
        return _fields(shown).get(name, "None")

    def wait_for_states(self, *hosts: str, state: str, seconds: float) -> None:
        """Wait until all `hosts` are in `state`, e.g. `idle`. Raises `NotInTime`."""
        deadline = time.monotonic() + seconds
        while any(self.states().get(host) != state for host in hosts):
            if time.monotonic() > deadline:
                raise NotInTime(f"not {state} within {seconds:g} s: {self.states()}, reasons {self.reasons()}")
            time.sleep(_PAUSE)

    def wait_for_file(self, path: str, *, seconds: float) -> None:
        """Wait until the node has the file `path`. Raises `NotInTime`."""
        deadline = time.monotonic() + seconds
        while self._node.run("test", "-e", path, check=False).returncode:
            if time.monotonic() > deadline:
                raise NotInTime(f"no {path} within {seconds:g} s")
            time.sleep(_PAUSE)

    def wait_for_job(self, job_id: str, *states: str, seconds: float, restarts: int = 0) -> Job:
        """Wait until the job is in one of `states` and has restarted at least `restarts` times. Raises `NotInTime`."""
        deadline = time.monotonic() + seconds
        while (job := self.job(job_id)).state not in states or job.restarts < restarts:
            if time.monotonic() > deadline:
                raise NotInTime(f"job {job_id} is not {' or '.join(states)} within {seconds:g} s: {job}")
            time.sleep(_PAUSE)
        return job


def _fields(shown: str) -> dict[str, str]:
    """Return the `Key=value` pairs of one line of scontrol's output."""
    return {key: value for key, _, value in (item.partition("=") for item in shown.split())}
