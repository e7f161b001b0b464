"""The exporters that images carry, and how each is started. What is marked unverified was not seen on an AMI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from llm_fleet_node.host import Host

_PLACES = ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")


@dataclass(frozen=True)
class Exporter:
    """One exporter."""

    name: str
    """What it tells of, e.g. `node`."""
    programs: tuple[str, ...]
    """Names of its program, the first that the node has is taken."""
    port: int
    command: str
    """Its command line; `{program}` and `{port}` stand for the two."""
    device: str = ""
    """A file pattern that must be there, e.g. of a driver's devices; empty when it runs on every node."""

    units: tuple[str, ...] = ()
    """Units that packages bring along for it. Two units would fight for the port, so one that is there is taken."""

    @property
    def own_unit(self) -> str:
        """The unit that we write where no package brought one."""
        return f"llm-fleet-{self.name}-exporter.service"

    def unit(self, host: Host) -> str:
        """Return the unit that starts it on this node."""
        return self.unit_path(host).rsplit("/", 1)[1]

    def unit_path(self, host: Host) -> str:
        """Return the file of that unit."""
        paths = (f"{place}/{unit}" for unit in self.units for place in _PLACES)
        return next((path for path in paths if host.path(path).exists()), f"{_PLACES[0]}/{self.own_unit}")

    def absent(self, host: Host) -> Optional[str]:
        """Say why this node needs none, or cannot have one; `None` when it can."""
        if self.device and not any(host.root.glob(self.device.lstrip("/"))):
            return f"no {self.device}"
        if self.program(host) is None:
            return f"the image carries no {' or '.join(self.programs)}"
        return None

    def program(self, host: Host) -> Optional[str]:
        """Return the path of its program as the node sees it."""
        found = next((path for path in map(host.which, self.programs) if path), None)
        return None if found is None else "/" + found[len(str(host.root)) :].lstrip("/")

    def unit_file(self, host: Host) -> str:
        """Return the text of its unit."""
        command = self.command.format(program=self.program(host), port=self.port)
        return _UNIT.format(name=self.name, command=command)


EXPORTERS = (
    # Prometheus's own and Debian's name of it. https://github.com/prometheus/node_exporter
    Exporter(
        "node",
        ("node_exporter", "prometheus-node-exporter"),
        9100,
        "{program} --web.listen-address=:{port}",
        units=("prometheus-node-exporter.service", "node_exporter.service"),
    ),
    # https://github.com/NVIDIA/dcgm-exporter; unverified on an AMI.
    Exporter(
        "dcgm",
        ("dcgm-exporter",),
        9400,
        "{program} --address :{port}",
        device="/dev/nvidia[0-9]*",
        units=("dcgm-exporter.service",),
    ),
    # Neuron's tools: neuron-monitor writes JSON, its companion serves it, on 8000 unless told. Unverified on an AMI.
    Exporter(
        "neuron",
        ("neuron-monitor-prometheus.py",),
        8000,
        "/bin/sh -c 'exec /opt/aws/neuron/bin/neuron-monitor | {program} --port {port}'",
        device="/dev/neuron[0-9]*",
    ),
    # AWS's sample fork of node_exporter, built by whoever makes the image; the port is ours. Unverified on an AMI.
    Exporter(
        "efa",
        ("node_exporter_efa",),
        9109,
        "{program} --web.listen-address=:{port}",
        device="/sys/class/infiniband/*",
    ),
)

_UNIT = """\
# Written by llm-fleet.
[Unit]
Description=Prometheus exporter ({name}) of llm-fleet
After=network.target

[Service]
ExecStart={command}
Restart=on-failure
RestartSec=5
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=read-only

[Install]
WantedBy=multi-user.target
"""
