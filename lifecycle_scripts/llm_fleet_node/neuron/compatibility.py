"""Compatible versions of the Neuron driver and runtime, from the table in the manifest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Optional

from llm_fleet_node.manifest_parts import Neuron, Package, PackageEdge
from llm_fleet_node.neuron.driver import DRIVER


def conflicts(versions: Mapping[str, str], edges: Iterable[PackageEdge]) -> list[str]:
    """Describe the incompatible packages in `versions` (by name). Missing packages are ignored."""
    return [
        f"{edge.package} {versions[edge.package]} requires {edge.other} {edge.at_least} or newer, "
        f"but this node has {versions[edge.other]}"
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
    """Return the host packages, without the driver, that are compatible with the image's `driver`; `None` if none are.

    The packages of the release come first: the alternatives have newer runtimes, for images with newer drivers.
    """
    for packages in (neuron.packages, *(other.packages for other in neuron.alternatives)):
        next_to = tuple(package for package in packages if package.name != DRIVER)
        if not conflicts({DRIVER: driver, **_versions(next_to)}, neuron.compatibility):
            return next_to
    return None


def _versions(packages: Sequence[Package]) -> dict[str, str]:
    return {package.name: package.version for package in packages}


def _parts(version: str) -> tuple[int, ...]:
    """Return the numbers before the first character that is neither a digit nor a point."""
    return tuple(int(part) for part in re.findall(r"\d+", re.split(r"[^\d.]", version, maxsplit=1)[0]))
