"""Whether what nodes are to install is among what they may fetch."""

from collections.abc import Sequence
from typing import Any

from llm_fleet.catalog.neuron import DRIVER, NeuronPackage, host_packages, neuron_releases
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem


def check_neuron_pinned(release: str, files: Sequence[dict[str, Any]] | None) -> list[Problem]:
    """Return a problem when the packages of Neuron `release` are not all among `files`, those of a right lock file.

    `files` is `None` when nodes fetch nothing. The driver may be missing: images bring it. An unknown release passes,
    since that is told elsewhere.
    """
    if release not in neuron_releases():
        return []
    if files is None:
        return [
            Problem(
                code=Code.NEURON_NOT_PINNED,
                message="nodes are to install Neuron's packages, and fetch nothing",
                remedy="say with `downloads` where they come from, or have nodes only verify what their image carries",
                value=release,
            )
        ]
    wanted = [package for package in host_packages(neuron_releases()[release]) if package.name != DRIVER]
    missing = [f"{package.name} {package.version}" for package in wanted if not _is_pinned(package, files)]
    if not missing:
        return []
    return [
        Problem(
            code=Code.NEURON_NOT_PINNED,
            message=f"nodes are to install Neuron {release}, and the lock file has no {', '.join(missing)}",
            remedy=f"make it anew with `llm-fleet mirror lock` for Neuron {release}",
            value=release,
        )
    ]


def _is_pinned(package: NeuronPackage, files: Sequence[dict[str, Any]]) -> bool:
    """Compare as nodes do: `2.30.51.0-6a1f2c3d4` is the catalog's `2.30.51.0`."""
    return any(
        file["name"] == package.name
        and f"{file['version']}-".startswith((f"{package.version}-", f"{package.version}_"))
        for file in files
    )
