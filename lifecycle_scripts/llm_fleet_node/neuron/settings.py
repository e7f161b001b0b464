"""Settings of the system that multi-node training on Neuron needs, made once so that no job needs sudo for them."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host

_SYSCTL = "/etc/sysctl.d/90-llm-fleet-neuron.conf"
_LIMITS = "/etc/security/limits.d/90-llm-fleet-neuron.conf"
_LIVE = "/proc/sys/net/ipv4/ip_local_reserved_ports"
_PORTS = frozenset({41000, 44000, 48620})
"""Where ranks meet: the rendezvous of neuronx-nemo-megatron, that of NxD, and NEURON_RT_ROOT_COMM_ID's."""
_OPEN_FILES = 65535
"""What Neuron's own training scripts ask of `ulimit -n`."""
_MORE_FILES = f"# Written by llm-fleet.\n* soft nofile {_OPEN_FILES}\n* hard nofile 1048576\n"
"""The hard limit is the kernel's default of the most, so that nobody is allowed less than before."""


def put_settings(host: Host) -> None:
    """Reserve the ports, now and after a reboot, beside those reserved already; let sessions open many files."""
    live = _reserved(host)
    if not live >= _PORTS:
        ports = _reported(live | _PORTS)
        host.path(_LIVE).write_text(ports, encoding="ascii")  # In place: nothing in /proc can be renamed.
        host.changes.append(f"reserved the ports {ports}")
    host.write(_SYSCTL, f"# Written by llm-fleet.\nnet.ipv4.ip_local_reserved_ports = {_reported(_reserved(host))}\n")
    host.write(_LIMITS, _MORE_FILES)


def check_settings(host: Host) -> None:
    """Raise `Failure` when the kernel gives the ports away to others, now or after a reboot, or files are few."""
    for where, ports in ((_LIVE, _reserved(host)), (_SYSCTL, _ports((host.read(_SYSCTL) or "").rpartition("=")[2]))):
        missing = _PORTS - ports
        if missing:
            fail(Code.ACCELERATOR_SETTINGS, f"{where} does not keep the ports {_reported(missing)} free")
    if host.read(_LIMITS) != _MORE_FILES:
        fail(Code.ACCELERATOR_SETTINGS, f"{_LIMITS} does not let sessions open {_OPEN_FILES} files")


def _reserved(host: Host) -> set[int]:
    """Return the ports that are reserved now."""
    return _ports(host.read(_LIVE) or "")


def _ports(reported: str) -> set[int]:
    """Return the ports of a list as the kernel tells it, e.g. `44000,48620-48630`."""
    found = set[int]()
    for piece in reported.strip().split(","):
        first, _, last = piece.partition("-")
        if first:
            found.update(range(int(first), int(last or first) + 1))
    return found


def _reported(ports: AbstractSet[int]) -> str:
    """Return `ports` as the kernel tells them, neighbours as ranges."""
    pieces: list[list[int]] = []
    for port in sorted(ports):
        if pieces and pieces[-1][1] == port - 1:
            pieces[-1][1] = port
        else:
            pieces.append([port, port])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in pieces)
