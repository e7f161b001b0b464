"""A real Prometheus accepts the remote writes of nodes, and returns the values.

Signatures are checked by the emulated service, because Prometheus has none. Format, labels and times are real here.
"""

import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llm_fleet_node.metrics.names import METRICS, prometheus_name
from llm_fleet_node.metrics.reading import Reading
from llm_fleet_node.metrics.sample import Sample
from llm_fleet_node.metrics.write_request import write_request
from tests.lifecycle_scripts.metrics.test_publishing import PROMETHEUS

_SECONDS = 30


class Prometheus:
    """A Prometheus on loopback that accepts remote writes."""

    def __init__(self, program: str, folder: Path) -> None:
        (folder / "prometheus.yml").write_text("global: {}\n")
        self._log = folder / "log"
        self.process = subprocess.Popen(
            [
                program,
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                "--web.listen-address=127.0.0.1:0",
                "--web.enable-remote-write-receiver",
                "--log.format=json",
            ],
            stdout=subprocess.DEVNULL,
            stderr=self._log.open("wb"),
        )
        self.address = self._address()
        self._wait()

    def write(self, body: bytes) -> None:
        """Send a write request of a node. Raises `HTTPError` if it is rejected."""
        headers = {"content-type": "application/x-protobuf", "content-encoding": "snappy"}
        headers["x-prometheus-remote-write-version"] = "0.1.0"
        request = urllib.request.Request(f"{self.address}/api/v1/write", data=body, headers=headers)
        with urllib.request.urlopen(request, timeout=_SECONDS):
            return

    def ask(self, query: str, at: float) -> list[dict[str, Any]]:
        """Return the result of a query at a time."""
        requested = urllib.parse.urlencode({"query": query, "time": at})
        with urllib.request.urlopen(f"{self.address}/api/v1/query?{requested}", timeout=_SECONDS) as answer:
            return json.load(answer)["data"]["result"]

    def _wait(self) -> None:
        """It listens before its storage is open, and answers 503 until then."""
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                with urllib.request.urlopen(f"{self.address}/-/ready", timeout=_SECONDS):
                    return
            except urllib.error.HTTPError:
                assert time.monotonic() < deadline, self._log.read_text()
                time.sleep(0.1)

    def _address(self) -> str:
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            for line in self._log.read_text().splitlines():
                reported = json.loads(line)
                if reported.get("msg") == "Listening on":
                    return f"http://{reported['address']}"
            time.sleep(0.1)
        raise AssertionError(self._log.read_text())


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Prometheus]:
    """Debian's package; `make real-parts` runs this, and every other run leaves it out."""
    if not os.environ.get("LLM_FLEET_REAL_PARTS"):
        pytest.skip("a real Prometheus: make real-parts")
    program = os.environ.get("LLM_FLEET_PROMETHEUS") or shutil.which("prometheus")
    assert program, "there is no Prometheus: apt-get install prometheus"
    made = Prometheus(program, tmp_path)
    yield made
    made.process.terminate()
    made.process.wait(_SECONDS)


def test_every_metric_arrives_with_its_labels_values_and_times(receiver: Prometheus):
    begun = int(time.time()) - 120
    numbers = {key: float(number) for number, key in enumerate(METRICS, start=1)}
    later = {key: value + 0.5 for key, value in numbers.items()}
    samples = [
        Sample(milliseconds=begun * 1000, reading=Reading(values=numbers)),
        Sample(milliseconds=(begun + 60) * 1000, reading=Reading(values=later)),
    ]
    receiver.write(write_request(samples, PROMETHEUS))
    for at, values in ((begun + 1, numbers), (begun + 61, later)):
        for key, value in values.items():
            (series,) = receiver.ask(prometheus_name(key), at)
            assert float(series["value"][1]) == value, key
            whose = {"cluster", "fleet"} if METRICS[key].of_cluster else {"group", "instance", "instance_type"}
            assert whose <= set(series["metric"]), key


def test_prometheus_accepts_a_long_request(receiver: Prometheus):
    """Above 64 KiB the encoded request has several pieces."""
    key, begun = next(iter(METRICS)), int(time.time()) - 3600
    samples = [
        Sample(milliseconds=begun * 1000 + number * 300, reading=Reading(values={key: float(number)}))
        for number in range(9000)
    ]
    body = write_request(samples, PROMETHEUS)
    assert len(body) > 1 << 16
    receiver.write(body)
    (series,) = receiver.ask(f"count_over_time({prometheus_name(key)}[1h])", time.time() - 60)
    assert int(series["value"][1]) > 8000
