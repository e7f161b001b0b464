"""The distributions from which a node image can be built."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Distribution:
    """One release of a distribution, with the values that mmdebstrap needs."""

    name: str
    """E.g. `debian-13`."""
    container: str
    """The base image of its Dockerfile, e.g. `debian:13`."""
    suite: str
    sources: tuple[str, ...]
    """Lines of sources.list, or addresses of archives."""
    python: str
    """Version of its Python, e.g. `3.13`."""
    slurm: str
    """Version of its Slurm, e.g. `24.11.5`."""


def _debian(mirror: str) -> Distribution:
    return Distribution("debian-13", "debian:13", "trixie", (f"deb {mirror} trixie main",), "3.13", "24.11.5")


def _ubuntu(version: str, suite: str, mirror: str, python: str, slurm: str) -> Distribution:
    pockets = ("", "-updates", "-security")
    lines = tuple(f"deb {mirror} {suite}{pocket} main universe" for pocket in pockets)
    return Distribution(f"ubuntu-{version}", f"ubuntu:{version}", suite, lines, python, slurm)


def distributions() -> dict[str, Distribution]:
    """Return the distributions by name. Only debian-13, the default, is built in this project.

    The packages come from the archives of Debian and Ubuntu, or from LLM_FLEET_DRILL_DEBIAN_MIRROR and
    LLM_FLEET_DRILL_UBUNTU_MIRROR.
    """
    debian = os.environ.get("LLM_FLEET_DRILL_DEBIAN_MIRROR", "http://deb.debian.org/debian")
    ubuntu = os.environ.get("LLM_FLEET_DRILL_UBUNTU_MIRROR", "http://archive.ubuntu.com/ubuntu")
    found = (
        _debian(debian),
        _ubuntu("22.04", "jammy", ubuntu, "3.10", "21.08.5"),
        _ubuntu("24.04", "noble", ubuntu, "3.12", "23.11.4"),
    )
    return {distribution.name: distribution for distribution in found}
