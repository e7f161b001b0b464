"""Chooses the back end for nodes on this machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from pathlib import Path

from llm_fleet_local.drill.image.image import Images
from llm_fleet_local.drill.image.prerequisites import MissingPrerequisite
from llm_fleet_local.drill.nodes.backend import Backend
from llm_fleet_local.drill.nodes.docker import DockerBackend
from llm_fleet_local.drill.nodes.docker_engine import find_engine
from llm_fleet_local.drill.nodes.docker_image import provide_docker_image
from llm_fleet_local.drill.nodes.unshare import UnshareBackend
from llm_fleet_local.drill.work_folder import image_folder

BACKENDS = ("auto", "unshare", "docker")


def make_backend(
    work: Path,
    name: str = "auto",
    *,
    subnet: str = "10.66.0.0/16",
    variant: str = "slurm",
    distribution: str = "debian-13",
    say: Callable[[str], None] = print,
) -> Backend:
    """Return the back end `name` for a cluster in the folder `work`, and build its image if necessary.

    `auto` is plain Linux for root on Linux, else an engine that answers. Raises `MissingPrerequisite` when the back end
    is not available.
    """
    if name not in BACKENDS:
        raise MissingPrerequisite(f"unknown back end {name!r}", f"choose one of {', '.join(BACKENDS)}")
    plain = platform.system() == "Linux" and os.geteuid() == 0
    if name == "unshare" or (name == "auto" and plain):
        image = Images(image_folder(), say).provide(variant, distribution)
        return UnshareBackend(image, work, subnet=subnet, say=say)
    engine = find_engine()
    if engine is None:
        raise MissingPrerequisite("no Docker or Podman engine answers", "start one, or run the drill as root on Linux")
    image = provide_docker_image(engine, variant, distribution, say)
    return DockerBackend(engine, image, work, subnet=subnet, say=say)
