"""System settings for multi-node training on Neuron, made by a step so that jobs need no sudo."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host

_SYSCTL = "/etc/sysctl.d/90-llm-fleet-neuron.conf"
_LIMITS = "/etc/security/limits.d/90-llm-fleet-neuron.conf"
_LIVE = "/proc/sys/net/ipv4/ip_local_reserved_ports"
_PORTS = frozenset({41000, 44000, 48620})
"""Rendezvous ports: of neuronx-nemo-megatron, NxD, and NEURON_RT_ROOT_COMM_ID."""
_OPEN_FILES = 65535
"""The `ulimit -n` in Neuron's training scripts."""
_MORE_FILES = f"# Written by llm-fleet.\n* soft nofile {_OPEN_FILES}\n* hard nofile 1048576\n"
"""The hard limit is the kernel's default maximum, so that no user has a lower limit than before."""


def put_settings(host: Host) -> None:
    """Add the ports to the reserved ports, now and after a reboot; raise the open file limit of sessions."""
    live = _reserved(host)
    if not live >= _PORTS:
        ports = _reported(live | _PORTS)
        host.path(_LIVE).write_text(ports, encoding="ascii")  # Written in place: files in /proc cannot be renamed.
        host.changes.append(f"reserved the ports {ports}")
    host.write(_SYSCTL, f"# Written by llm-fleet.\nnet.ipv4.ip_local_reserved_ports = {_reported(_reserved(host))}\n")
    host.write(_LIMITS, _MORE_FILES)


def check_settings(host: Host) -> None:
    """Raise `Failure` if the ports are not reserved, now or after a reboot, or if the open file limit is too low."""
    for where, ports in ((_LIVE, _reserved(host)), (_SYSCTL, _ports((host.read(_SYSCTL) or "").rpartition("=")[2]))):
        missing = _PORTS - ports
        if missing:
            fail(Code.ACCELERATOR_SETTINGS, f"{where} does not reserve the ports {_reported(missing)}")
    if host.read(_LIMITS) != _MORE_FILES:
        fail(Code.ACCELERATOR_SETTINGS, f"{_LIMITS} does not set the open file limit to {_OPEN_FILES}")


def _reserved(host: Host) -> set[int]:
    """Return the currently reserved ports."""
    return _ports(host.read(_LIVE) or "")


def _ports(reported: str) -> set[int]:
    """Return the ports in a list of the kernel, e.g. `44000,48620-48630`."""
    found = set[int]()
    for piece in reported.strip().split(","):
        first, _, last = piece.partition("-")
        if first:
            found.update(range(int(first), int(last or first) + 1))
    return found


def _reported(ports: AbstractSet[int]) -> str:
    """Return `ports` in the kernel's format, with ranges."""
    pieces: list[list[int]] = []
    for port in sorted(ports):
        if pieces and pieces[-1][1] == port - 1:
            pieces[-1][1] = port
        else:
            pieces.append([port, port])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in pieces)
