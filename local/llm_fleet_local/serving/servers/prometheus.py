"""Metrics in Prometheus' text form. A series exists after its first value, as in both servers.

Source: assumption model-servers-as-in-their-sources
"""

from collections.abc import Callable, Sequence

_BUCKETS = (0.005, 0.05, 0.5, 5.0, 50.0, 500.0, 5000.0)


class Metrics:
    """All metrics of one server."""

    def __init__(self, labels: str = "") -> None:
        """Take the labels that every series has, e.g. `model_name="chat"`."""
        self._labels = labels
        self._counters: dict[tuple[str, str], float] = {}
        self._samples: dict[tuple[str, str], list[float]] = {}
        self._gauges: dict[str, Callable[[], float]] = {}

    def count(self, name: str, labels: str = "", by: float = 1) -> None:
        """Add to a counter."""
        key = (name, self._all(labels))
        self._counters[key] = self._counters.get(key, 0) + by

    def observe(self, name: str, value: float, labels: str = "") -> None:
        """Record a value in a histogram."""
        self._samples.setdefault((name, self._all(labels)), []).append(value)

    def gauge(self, name: str, value: Callable[[], float]) -> None:
        """Add a gauge; `value` is called when it is read."""
        self._gauges[name] = value

    def text(self) -> str:
        """Return the response to a scrape."""
        lines: list[str] = []
        for name in dict.fromkeys(name for name, _ in self._counters):
            lines.append(f"# TYPE {name} counter")
            lines += [
                f"{name}{_braced(labels)} {value:g}" for (key, labels), value in self._counters.items() if key == name
            ]
        for name, value in self._gauges.items():
            lines += [f"# TYPE {name} gauge", f"{name}{_braced(self._labels)} {value():g}"]
        for name in dict.fromkeys(name for name, _ in self._samples):
            lines.append(f"# TYPE {name} histogram")
            for (key, labels), samples in self._samples.items():
                lines += _histogram(name, labels, samples) if key == name else []
        return "".join(f"{line}\n" for line in lines)

    def _all(self, labels: str) -> str:
        return ",".join(filter(None, (self._labels, labels)))


def _histogram(name: str, labels: str, samples: Sequence[float]) -> list[str]:
    def bucket(limit: str, count: int) -> str:
        limited = ",".join(filter(None, (labels, f'le="{limit}"')))
        return f"{name}_bucket{_braced(limited)} {count}"

    return [
        *(bucket(f"{limit:g}", sum(sample <= limit for sample in samples)) for limit in _BUCKETS),
        bucket("+Inf", len(samples)),
        f"{name}_sum{_braced(labels)} {sum(samples):g}",
        f"{name}_count{_braced(labels)} {len(samples)}",
    ]


def _braced(labels: str) -> str:
    return f"{{{labels}}}" if labels else ""
