"""Which versions of Neuron's driver and runtime go together, by the table in the manifest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Optional

from llm_fleet_node.manifest_parts import Neuron, Package, PackageEdge
from llm_fleet_node.neuron.driver import DRIVER


def conflicts(versions: Mapping[str, str], edges: Iterable[PackageEdge]) -> list[str]:
    """Return, in words, what of `versions` (by package) does not go together. Missing packages ask for nothing."""
    return [
        f"{edge.package} {versions[edge.package]} needs {edge.other} {edge.at_least} or newer, "
        f"here is {versions[edge.other]}"
        for edge in edges
        if edge.package in versions
        and edge.other in versions
        and is_at_least(versions[edge.package], edge.from_version)
        and not is_at_least(versions[edge.other], edge.at_least)
    ]


def is_at_least(version: str, least: str) -> bool:
    """Return whether `version`, e.g. `2.30.51.0-6a1f2c3d4`, is `least`, e.g. `2.29`, or newer."""
    return _parts(version) >= _parts(least)


def packages_next_to(neuron: Neuron, driver: str) -> Optional[tuple[Package, ...]]:
    """Return the host's packages, without the driver, that go with the image's `driver`; `None` when none do.

    The release's own, if they can: the alternatives come with newer runtimes, for images with newer drivers.
    """
    for packages in (neuron.packages, *(other.packages for other in neuron.alternatives)):
        next_to = tuple(package for package in packages if package.name != DRIVER)
        if not conflicts({DRIVER: driver, **_versions(next_to)}, neuron.compatibility):
            return next_to
    return None


def _versions(packages: Sequence[Package]) -> dict[str, str]:
    return {package.name: package.version for package in packages}


def _parts(version: str) -> tuple[int, ...]:
    """Return the numbers before the first sign that is neither digit nor point."""
    return tuple(int(part) for part in re.findall(r"\d+", re.split(r"[^\d.]", version, maxsplit=1)[0]))
