"""The exporters that images have: requirements and command lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from llm_fleet_node.host import Host

_PLACES = ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")


@dataclass(frozen=True)
class Exporter:
    """One exporter."""

    name: str
    """Its subject, e.g. `node`."""
    programs: tuple[str, ...]
    """Names of its program; the first one on the node is used."""
    port: int
    command: str
    """Its command line, with the placeholders `{program}` and `{port}`."""
    device: str = ""
    """File pattern that must match, e.g. of a driver's devices; empty if it runs on every node."""

    module: str = ""
    """Python module that the program imports, but that no package installs with it; empty for none."""
    needs: tuple[tuple[str, ...], ...] = ()
    """More required files: in each group of file patterns, one must match."""
    units: tuple[str, ...] = ()
    """Units of packages. An existing unit is used, because a second one could not open the port."""

    @property
    def own_unit(self) -> str:
        """Unit that llm-fleet writes if no package has one."""
        return f"llm-fleet-{self.name}-exporter.service"

    def unit(self, host: Host) -> str:
        """Return the unit that starts it on this node."""
        return self.unit_path(host).rsplit("/", 1)[1]

    def unit_path(self, host: Host) -> str:
        """Return the file of that unit."""
        paths = (f"{place}/{unit}" for unit in self.units for place in _PLACES)
        return next((path for path in paths if host.path(path).exists()), f"{_PLACES[0]}/{self.own_unit}")

    def absent(self, host: Host) -> Optional[str]:
        """Return why this node does not need it or cannot run it; `None` if it can."""
        if self.device and not _matches(host, self.device):
            return f"no {self.device}"
        if self.program(host) is None:
            return f"the image has no {' or '.join(self.programs)}"
        missing = [group for group in self.needs if not any(_matches(host, pattern) for pattern in group)]
        if missing:
            return f"the image has no {' or '.join(missing[0])}, which {self.programs[0]} requires"
        if self.module and not self._imports(host):
            return f"the Python of {self.program(host)} cannot import {self.module}, which it requires"
        return None

    def program(self, host: Host) -> Optional[str]:
        """Return the path of its program on the node."""
        found = next((path for path in map(host.which, self.programs) if path), None)
        return None if found is None else "/" + found[len(str(host.root)) :].lstrip("/")

    def _imports(self, host: Host) -> bool:
        """Return whether the interpreter in the program's `#!` line can import the module."""
        first = (host.read(self.program(host) or "") or "").partition("\n")[0]
        interpreter = first[2:].split() if first.startswith("#!") else ["python3"]
        return host.succeeds(*interpreter, "-c", f"import {self.module}", timeout=20)

    def unit_file(self, host: Host) -> str:
        """Return the text of its unit."""
        command = self.command.format(program=self.program(host), port=self.port)
        return _UNIT.format(name=self.name, command=command)


def _matches(host: Host, pattern: str) -> bool:
    return any(host.root.glob(pattern.lstrip("/")))


EXPORTERS = (
    # Names of Prometheus and of Debian. https://github.com/prometheus/node_exporter
    Exporter(
        "node",
        ("node_exporter", "prometheus-node-exporter"),
        9100,
        "{program} --web.listen-address=:{port}",
        units=("prometheus-node-exporter.service", "node_exporter.service"),
    ),
    # https://github.com/NVIDIA/dcgm-exporter: it reads its counters from that file by default, and loads
    # DCGM's library when it starts. assumption: ami-carries-exporters
    Exporter(
        "dcgm",
        ("dcgm-exporter",),
        9400,
        "{program} --address :{port}",
        device="/dev/nvidia[0-9]*",
        needs=(
            ("/etc/dcgm-exporter/default-counters.csv",),
            ("/usr/lib/*-linux-gnu/libdcgm.so.*", "/usr/lib64/libdcgm.so.*", "/usr/local/lib*/libdcgm.so.*"),
        ),
        units=("dcgm-exporter.service",),
    ),
    # Neuron's tools: neuron-monitor writes JSON, its companion serves it, by default on 8000. It "requires Python3 and
    # the Prometheus client Python module" (neuron-monitor User Guide). assumption: ami-carries-exporters
    Exporter(
        "neuron",
        ("neuron-monitor-prometheus.py",),
        8000,
        "/bin/sh -c 'exec /opt/aws/neuron/bin/neuron-monitor | {program} --port {port}'",
        device="/dev/neuron[0-9]*",
        module="prometheus_client",
    ),
    # AWS's sample fork of node_exporter, built by the image's author; the port is our choice.
    # assumption: ami-carries-exporters
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
