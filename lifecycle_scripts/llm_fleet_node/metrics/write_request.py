"""Encodes samples for Prometheus remote write 1.0: a WriteRequest in protobuf, compressed with Snappy.

prometheus.io/docs/specs/prw/remote_write_spec; protobuf.dev/programming-guides/encoding;
github.com/google/snappy/blob/main/format_description.txt
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from llm_fleet_node.metrics.names import METRICS, prometheus_name
from llm_fleet_node.metrics.sample import Sample
from llm_fleet_node.metrics.settings import Settings

_BYTES, _DOUBLE, _VARINT = 2, 1, 0
"""Wire types."""
_LONGEST_LITERAL = 65536


def write_request(samples: Sequence[Sample], settings: Settings) -> bytes:
    """Return the body of a request for `samples`, which are in order of time. One series for each metric and node."""
    series: dict[str, list[tuple[int, float]]] = {}
    for sample in samples:
        for key, value in sample.numbers.items():
            series.setdefault(key, []).append((sample.milliseconds, value))
    return snappy(
        b"".join(_field(1, _series(_labels(key, settings), reported)) for key, reported in sorted(series.items()))
    )


def _labels(key: str, settings: Settings) -> dict[str, str]:
    whose = {"cluster": settings.cluster, "fleet": settings.fleet}
    if not METRICS[key].of_cluster:
        # The queue belongs to the cluster, not to the node: the series continues when the controller is replaced.
        whose |= {"group": settings.group, "instance": settings.node, "instance_type": settings.instance_type}
    return {"__name__": prometheus_name(key), **{name: value for name, value in whose.items() if value}}


def _series(labels: Mapping[str, str], samples: Sequence[tuple[int, float]]) -> bytes:
    """TimeSeries: labels in order of their names, then samples in order of time."""
    reported = b"".join(
        _field(1, _field(1, name.encode()) + _field(2, value.encode())) for name, value in sorted(labels.items())
    )
    return reported + b"".join(_field(2, _sample(at, value)) for at, value in samples)


def _sample(milliseconds: int, value: float) -> bytes:
    return _key(1, _DOUBLE) + struct.pack("<d", value) + _key(2, _VARINT) + varint(milliseconds)


def _field(number: int, content: bytes) -> bytes:
    return _key(number, _BYTES) + varint(len(content)) + content


def _key(number: int, wire_type: int) -> bytes:
    return varint(number << 3 | wire_type)


def varint(number: int) -> bytes:
    """Return the positive `number` in groups of seven bits, the lowest first."""
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def snappy(content: bytes) -> bytes:
    """Return `content` in Snappy's format, only with literals: a few KiB a minute need no compression."""
    parts = [content[at : at + _LONGEST_LITERAL] for at in range(0, len(content), _LONGEST_LITERAL)]
    # Tag 61 << 2: a literal whose length less one is in the next two bytes, the lowest first.
    literals = [bytes([61 << 2]) + struct.pack("<H", len(part) - 1) + part for part in parts]
    return varint(len(content)) + b"".join(literals)
