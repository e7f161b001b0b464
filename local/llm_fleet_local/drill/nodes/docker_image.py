"""The node image in Docker or Podman."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from llm_fleet_local.drill.image.aws_cli import fetch_aws_cli
from llm_fleet_local.drill.image.distribution import Distribution, distributions
from llm_fleet_local.drill.image.image import RECIPE, Images, recipe_keys
from llm_fleet_local.drill.nodes.docker_engine import Engine
from llm_fleet_local.drill.work_folder import image_folder

_HAND_OVER = """
mount -t overlay overlay -o "lowerdir=$1" "$2"
tar -C "$2" --numeric-owner -cf - . | "${@:4}" import - "$3"
"""


def provide_docker_image(
    engine: Engine, variant: str = "slurm", distribution: str = "debian-13", say: Callable[[str], None] = print
) -> str:
    """Return the name of the engine's node image; it is built first if it does not exist or its recipe has changed.

    As root on Debian or Ubuntu, the image of the plain Linux back end is imported. Else, the Dockerfile builds it from
    the distribution's image in its registry.
    """
    release = distributions()[distribution]
    key = recipe_keys(release)[0 if variant == "bare" else 1]
    name = f"llm-fleet-drill:{distribution}-{variant}-{key}"
    if engine.run("image", "inspect", name, check=False).returncode == 0:
        return name
    say(f"making the image {name}")
    if os.geteuid() == 0 and shutil.which("apt-get"):
        _hand_over(engine, Images(image_folder(), say).provide(variant, distribution).layers, name)
    else:
        _build(engine, release, variant, name)
    return name


def _hand_over(engine: Engine, layers: tuple[Path, ...], name: str) -> None:
    """Import the layers as one image."""
    with tempfile.TemporaryDirectory(prefix="drill-image-") as folder:
        # In a private mount namespace: no mount remains if this process is killed. An overlay with a single lower
        # layer requires an upper layer.
        lower = ":".join([*map(str, layers), folder])
        alone = [
            "unshare",
            "--mount",
            "--propagation=private",
            "bash",
            "-euo",
            "pipefail",
            "-c",
            _HAND_OVER,
            "hand-over",
        ]
        subprocess.run([*alone, lower, folder, name, *engine.program], check=True, stdout=subprocess.DEVNULL)


def _build(engine: Engine, release: Distribution, variant: str, name: str) -> None:
    with tempfile.TemporaryDirectory(prefix="drill-image-") as folder:
        fetch_aws_cli(RECIPE / "aws-cli.txt", Path(folder), release.python)
        command = ["build", f"--build-context=aws-cli={folder}", f"--build-arg=FROM={release.container}"]
        engine.run(*command, f"--target={variant}", f"--tag={name}", str(RECIPE), timeout=1800)
