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


def put_settings(host: Host) -> None:
    """Reserve the ports, now and after a reboot, beside those reserved already; let sessions open many files."""
    live = _reserved(host)
    if not live >= _PORTS:
        ports = _told(live | _PORTS)
        host.path(_LIVE).write_text(ports, encoding="ascii")  # In place: nothing in /proc can be renamed.
        host.changes.append(f"reserved the ports {ports}")
    host.write(_SYSCTL, f"# Written by llm-fleet.\nnet.ipv4.ip_local_reserved_ports = {_told(_reserved(host))}\n")
    host.write(_LIMITS, f"# Written by llm-fleet.\n* soft nofile {_OPEN_FILES}\n* hard nofile {_OPEN_FILES}\n")


def check_settings(host: Host) -> None:
    """Raise `Failure` when the kernel would give the ports away to others."""
    missing = _PORTS - _reserved(host)
    if missing:
        fail(Code.ACCELERATOR_SETTINGS, f"the kernel does not keep the ports {_told(missing)} free, see {_SYSCTL}")


def _reserved(host: Host) -> set[int]:
    """Return the reserved ports, which the kernel tells as e.g. `44000,48620-48630`."""
    found = set[int]()
    for piece in (host.read(_LIVE) or "").strip().split(","):
        first, _, last = piece.partition("-")
        if first:
            found.update(range(int(first), int(last or first) + 1))
    return found


def _told(ports: AbstractSet[int]) -> str:
    """Return `ports` as the kernel tells them, neighbours as ranges."""
    pieces: list[list[int]] = []
    for port in sorted(ports):
        if pieces and pieces[-1][1] == port - 1:
            pieces[-1][1] = port
        else:
            pieces.append([port, port])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in pieces)
