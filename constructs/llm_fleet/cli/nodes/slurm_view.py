"""How Slurm sees the nodes of a cluster.

`sinfo` and `squeue` take the same fields by `--format` in Slurm 23.11 to 25.11; their JSON changes with its parser.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from llm_fleet.cli.failures import refuse
from llm_fleet.cli.nodes.node import expanded
from llm_fleet.rules.command_codes import NodesCode

_NODES, _JOBS, _ADDRESSES = "# nodes", "# jobs", "# addresses"
_SECONDS = 30
"""How long slurmctld may take; its clients would wait for minutes."""
_FIELDS = 4

# The resource configuration knows the address of each machine, where ListClusterNodes does not tell a name.
_READ_ADDRESSES = (
    "import json; "
    "c = json.load(open('/opt/ml/config/resource_config.json')); "
    "[print(i['InstanceId'], i['CustomerIpAddress'], sep='|') "
    "for g in c['InstanceGroups'] for i in g.get('Instances') or []]"
)
SLURM_SCRIPT = f"""\
set -euo pipefail
export PATH=/opt/slurm/bin:$PATH LC_ALL=C
echo '{_NODES}'
timeout {_SECONDS} sinfo --all --Node --noheader --format='%N|%o|%T|%E'
echo '{_JOBS}'
timeout {_SECONDS} squeue --all --noheader --states=RUNNING,COMPLETING,CONFIGURING,SUSPENDED --format='%A|%u|%N'
echo '{_ADDRESSES}'
[[ ! -r /opt/ml/config/resource_config.json ]] || python3 -c "{_READ_ADDRESSES}" || true
"""
"""What a node with Slurm's commands runs: it reads, and changes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmNode:
    """One node in Slurm's words."""

    name: str
    address: str
    """Its NodeAddr: an address, or a name again."""
    state: str
    """Long form, e.g. `idle`, `allocated`, `down*`; a sign at its end says more: `*` it does not answer, `~` it is
    powered down."""
    reason: str = ""
    jobs: Sequence[str] = ()
    """Each as `id user`."""

    @property
    def word(self) -> str:
        """The state without the sign at its end."""
        return self.state.rstrip("*~#!%$@^-+")

    @property
    def is_off(self) -> bool:
        """Whether there is no machine for it, and none is missed: a dynamic node that Slurm has powered down."""
        return self.state.endswith(("~", "%"))

    @property
    def is_lost(self) -> bool:
        """Whether Slurm gives it no work because it does not answer, or nobody knows it."""
        return not self.is_off and (self.state.endswith("*") or self.word in _LOST)

    @property
    def works(self) -> bool:
        """Whether Slurm gives it work, or has."""
        return not self.is_off and not self.state.endswith("*") and self.word in _WORKING


_LOST = frozenset({"down", "unknown", "fail", "failing", "error", "inval", "not_responding"})
_WORKING = frozenset({"idle", "allocated", "mixed", "completing", "planned"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmView:
    """All nodes that Slurm knows."""

    nodes: Mapping[str, SlurmNode]
    """By name."""
    addresses: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of HyperPod's machines, by instance id."""


def read_slurm(lines: Iterable[str]) -> SlurmView:
    """Return what `SLURM_SCRIPT` printed. Raises `FleetError` (LF1112)."""
    parts: dict[str, list[str]] = {_NODES: [], _JOBS: [], _ADDRESSES: []}
    here: list[str] | None = None
    for line in lines:
        if line in parts:
            here = parts[line]
        elif here is not None and line.strip():
            here.append(line)
    if here is None:
        _refuse("no answer of sinfo is in it")
    jobs = _jobs(parts[_JOBS])
    nodes = {node.name: node for node in (_node(line, jobs) for line in parts[_NODES])}
    pairs = (line.split("|") for line in parts[_ADDRESSES] if line.count("|") == 1)
    return SlurmView(nodes=nodes, addresses={instance: address for instance, address in pairs})


def _node(line: str, jobs: Mapping[str, Sequence[str]]) -> SlurmNode:
    # The reason comes last: people write into it what they like.
    fields = line.split("|", _FIELDS - 1)
    if len(fields) != _FIELDS:
        _refuse(f"a node is told as {line!r}")
    name, address, state, reason = fields
    told = "" if reason.strip() in ("none", "(null)", "") else reason.strip()
    return SlurmNode(name=name, address=address, state=state.lower(), reason=told, jobs=tuple(jobs.get(name, ())))


def _jobs(lines: Iterable[str]) -> dict[str, list[str]]:
    """Return the jobs on each node."""
    found: dict[str, list[str]] = {}
    for line in lines:
        number, user, hosts = (*line.split("|"), "", "")[:3]
        for name in expanded(hosts):
            found.setdefault(name, []).append(f"{number} {user}")
    return found


def _refuse(what: str) -> NoReturn:
    refuse(
        NodesCode.SLURM_UNREADABLE,
        f"what Slurm says of its nodes cannot be read: {what}",
        "run `sinfo --Node` on the controller and see what it says; --no-slurm leaves Slurm out",
        subject="Slurm",
    )
