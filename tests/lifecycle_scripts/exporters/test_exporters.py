"""Exporters of the image run and answer; missing ones are only logged."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from llm_fleet_node.exporters import kinds
from llm_fleet_node.exporters.kinds import EXPORTERS, Exporter
from llm_fleet_node.exporters.scrape import metrics
from llm_fleet_node.failures import Code
from llm_fleet_node.node import Node
from llm_fleet_node.steps import exporters
from llm_fleet_node.steps.exporters import STEP
from tests.lifecycle_scripts.convergence import assert_fails, converges
from tests.lifecycle_scripts.step_node import file, make, program, said
from tests.pains.reported import reported

METRICS = '# HELP node_load1 load\nnode_load1 0.5\nnode_disk{name="a b"} 1e9\n'
SYSTEMCTL = """
state = root + '/state/'
os.makedirs(state, exist_ok=True)
open(root + '/calls', 'a').write(' '.join(a) + '\\n')
def has(what): return os.path.exists(f'{state}{a[-1]}.{what}')
if a == ['daemon-reload']: sys.exit()
if not any(os.path.exists(f'{root}{place}/{a[-1]}') for place in ('/etc/systemd/system', '/usr/lib/systemd/system')):
    sys.exit(f'Unit {a[-1]} not found.')
if a[:2] == ['is-active', '--quiet']: sys.exit(0 if has('active') else 3)
elif a[:2] == ['show', '--property=NeedDaemonReload'] and len(a) == 3:
    print('NeedDaemonReload=' + ('yes' if os.path.exists(root + '/changed') else 'no'))
elif a[0] == 'start' and len(a) == 2: open(f'{state}{a[1]}.active', 'w')
elif a[0] == 'stop' and len(a) == 2: os.unlink(f'{state}{a[1]}.active')
else: bad()
"""
UNIT = "llm-fleet-node-exporter.service"


def _silence(port: int) -> int:
    return 0 * port


class _Answers(BaseHTTPRequestHandler):
    text = METRICS
    status = 200

    def do_GET(self) -> None:
        self.send_response(self.status if self.path == "/metrics" else 404)
        self.end_headers()
        self.wfile.write(self.text.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    class Answers(_Answers):
        pass

    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def fresh(root: Path) -> Node:
    program(root, "node_exporter", "bad()")
    program(root, "systemctl", SYSTEMCTL)
    return make(root)


@pytest.fixture
def node(tmp_path: Path, server: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Node:
    """A node with node_exporter, on the port where the test's server answers once the unit was started."""
    moved = (replace(EXPORTERS[0], port=server.server_port), *EXPORTERS[1:])
    monkeypatch.setattr(exporters, "EXPORTERS", moved)
    node = fresh(tmp_path)

    def once_started(port: int) -> int:
        return metrics(port) if (tmp_path / f"state/{UNIT}.active").exists() else 0

    monkeypatch.setattr(exporters, "metrics", once_started)
    return node


def test_exporters_of_the_image_run_and_answer(node: Node) -> None:
    STEP.apply(node)
    STEP.verify(node)
    unit = node.host.read(f"/etc/systemd/system/{UNIT}") or ""
    assert "ExecStart=/usr/bin/node_exporter --web.listen-address=:" in unit
    link = node.host.path(f"/etc/systemd/system/multi-user.target.wants/{UNIT}")
    assert str(link.readlink()) == f"/etc/systemd/system/{UNIT}"
    assert "dcgm exporter: absent, no /dev/nvidia[0-9]*" in said(node)


def test_a_changed_unit_is_restarted(node: Node) -> None:
    STEP.apply(node)
    file(node.host.root, f"/etc/systemd/system/{UNIT}", "[Service]\nExecStart=/old\n")
    file(node.host.root, "/changed", "")
    STEP.apply(node)
    assert (node.host.read("/calls") or "").splitlines()[-2:] == ["daemon-reload", f"start {UNIT}"]
    assert node.host.changes[-3:] == [f"stopped {UNIT}", f"wrote /etc/systemd/system/{UNIT}", f"started {UNIT}"]


def test_it_converges_after_a_kill_at_any_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporters, "metrics", _silence)

    def old(root: Path) -> Node:
        file(root, f"/etc/systemd/system/{UNIT}", "[Service]\nExecStart=/old\n")
        file(root, f"/state/{UNIT}.active", "")
        return fresh(root)

    assert converges(STEP, old, tmp_path, ignore=["/calls"], is_verified=False) == 4


def test_the_unit_of_a_package_is_used(node: Node) -> None:
    file(node.host.root, "/usr/lib/systemd/system/prometheus-node-exporter.service", "[Service]\n")
    STEP.apply(node)
    assert node.host.read(f"/etc/systemd/system/{UNIT}") is None
    assert node.host.path("/state/prometheus-node-exporter.service.active").exists()
    link = node.host.path("/etc/systemd/system/multi-user.target.wants/prometheus-node-exporter.service")
    assert str(link.readlink()) == "/usr/lib/systemd/system/prometheus-node-exporter.service"


def test_a_port_with_metrics_of_another_unit_is_not_changed(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporters, "metrics", metrics)
    STEP.apply(node)
    STEP.verify(node)
    assert "already serves metrics, from another unit" in said(node)
    assert node.host.changes == []


def test_no_answer_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporters, "_SECONDS", 0.1)
    monkeypatch.setattr(exporters, "EXPORTERS", (replace(EXPORTERS[0], port=1),))
    failure = assert_fails(Code.EXPORTER, STEP.verify, fresh(tmp_path), match="no metric on port 1 ")
    reported(23, failure, "LFN84 no metric on port 1 ")


@pytest.mark.parametrize(
    ("text", "status"), [("", 200), ("<html>hello</html>", 200), (METRICS, 500), ("# HELP a\n", 200)]
)
def test_an_answer_without_metrics_is_a_failure(server: HTTPServer, text: str, status: int) -> None:
    server.RequestHandlerClass.text, server.RequestHandlerClass.status = text, status  # pyright: ignore
    assert metrics(server.server_port) == 0


def test_metrics_are_counted(server: HTTPServer) -> None:
    assert metrics(server.server_port) == 2


def test_devices_select_their_exporters(tmp_path: Path) -> None:
    node = fresh(tmp_path)
    by_name = {exporter.name: exporter for exporter in EXPORTERS}
    for name, device, run in (
        ("dcgm", "/dev/nvidia0", "dcgm-exporter"),
        ("neuron", "/dev/neuron0", "neuron-monitor-prometheus.py"),
        ("efa", "/sys/class/infiniband/rdmap0", "node_exporter_efa"),
    ):
        exporter = by_name[name]
        assert (exporter.absent(node.host) or "").startswith("no /")
        file(tmp_path, device, "")
        assert exporter.absent(node.host) == f"the image has no {run}"
        program(tmp_path, run, "")
        _carry_needs(tmp_path, exporter)
        assert exporter.absent(node.host) is None
        assert f"/usr/bin/{run}" in exporter.unit_file(node.host)
        assert str(exporter.port) in exporter.unit_file(node.host)


def test_each_exporter_has_its_own_port() -> None:
    assert len({exporter.port for exporter in EXPORTERS}) == len(EXPORTERS)
    assert all(isinstance(exporter, Exporter) for exporter in kinds.EXPORTERS)


def test_it_is_skipped_if_the_image_has_none(tmp_path: Path) -> None:
    reason = STEP.skip(make(tmp_path)) or ""
    assert "node: the image has no node_exporter or prometheus-node-exporter" in reason
    assert STEP.skip(fresh(tmp_path)) is None


def _carry_needs(root: Path, exporter: Exporter) -> None:
    """Write the other files that the program requires, as in a complete image."""
    for group in exporter.needs:
        file(root, group[0].replace("*", "1"), "")
    if exporter.module:
        for name in exporter.programs:
            (root / "usr/bin" / name).write_text("#!/usr/bin/env python3\n")
        program(root, "python3", f"sys.exit(a != ['-c', 'import {exporter.module}'])")


def test_a_failed_exporter_degrades_the_node() -> None:
    """Jobs need none of them: a node whose exporter fails is degraded, and its start ends with 0."""
    assert not STEP.is_for_jobs


def test_neurons_exporter_is_absent_without_the_client_module(tmp_path: Path) -> None:
    """It would end with ModuleNotFoundError and be restarted forever."""
    neuron = next(exporter for exporter in EXPORTERS if exporter.name == "neuron")
    node = fresh(tmp_path)
    file(tmp_path, "/dev/neuron0", "")
    program(tmp_path, "neuron-monitor-prometheus.py", "import prometheus_client")  # with -S: standard library only
    assert "cannot import prometheus_client" in (neuron.absent(node.host) or "")
    _carry_needs(tmp_path, neuron)
    assert neuron.absent(node.host) is None
    (tmp_path / "usr/bin/python3").unlink()
    assert "cannot import prometheus_client" in (neuron.absent(node.host) or "")


def test_dcgms_exporter_is_absent_without_its_counters_or_library(tmp_path: Path) -> None:
    dcgm = next(exporter for exporter in EXPORTERS if exporter.name == "dcgm")
    node = fresh(tmp_path)
    file(tmp_path, "/dev/nvidia0", "")
    program(tmp_path, "dcgm-exporter", "")
    assert "no /etc/dcgm-exporter/default-counters.csv" in (dcgm.absent(node.host) or "")
    file(tmp_path, "/etc/dcgm-exporter/default-counters.csv", "")
    assert "libdcgm.so" in (dcgm.absent(node.host) or "")
    file(tmp_path, "/usr/lib/x86_64-linux-gnu/libdcgm.so.4", "")
    assert dcgm.absent(node.host) is None
