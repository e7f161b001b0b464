"""Builds node images in layers, and finds existing ones.

The recipes are part of an image's key. So that a changed source does not rebuild images, the source of the AMI's user,
which `base.sh` creates, is here.
Source: code of awslabs/awsome-distributed-training a9171e6, LifecycleScripts/base-config/lifecycle_script.py, which
runs utils/gen-keypair-ubuntu.sh and utils/fsx_ubuntu.sh on every node
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from llm_fleet_local.command.project import LocalError
from llm_fleet_local.drill.image.aws_cli import fetch_aws_cli
from llm_fleet_local.drill.image.distribution import Distribution, distributions
from llm_fleet_local.drill.image.prerequisites import provide

RECIPE = Path(__file__).parent / "recipe"
_LAYER = Path(__file__).parent / "layer.sh"
_AWS_CLI = Path(__file__).with_name("aws_cli.py")
_BASE = ("base.packages", "base.sh", "last.sh", "aws-cli.txt", "files/base")
_SLURM = ("slurm.packages", "slurm.sh", "auto_resume.c", "set_no_clock.c", "last.sh", "files/slurm")
_ALONE = ("unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child", "bash")
VARIANTS = ("slurm", "bare")


class ImageError(LocalError):
    """An image could not be built; the message has the last lines of the build's output."""


@dataclass(frozen=True)
class Image:
    """A node image: the layers of an overlay file system."""

    variant: str
    """`slurm`: laid out like the HyperPod Slurm AMI. `bare`: the same without Slurm, MUNGE and MariaDB."""
    layers: tuple[Path, ...]
    """Root folders of the layers, the topmost first."""
    packages: Path
    """Folder with the packages (.deb) that turn a bare node into a Slurm node: the content of a mirror."""


class Images:
    """The images in one folder. Each is built once and kept until its recipe changes."""

    def __init__(self, folder: Path, say: Callable[[str], None] = print) -> None:
        """`folder` of the images, and a function that prints progress."""
        self._folder = folder
        self._say = say

    def provide(self, variant: str = "slurm", distribution: str = "debian-13") -> Image:
        """Return the image; it is built first (about a minute) if it does not exist or its recipe has changed.

        Raises `ImageError` when the build fails and `MissingPrerequisite` when a program is missing on the machine.
        A killed build leaves no incomplete image.
        """
        if variant not in VARIANTS:
            raise ImageError(f"unknown image {variant!r}", f"choose one of {', '.join(VARIANTS)}")
        release = distributions()[distribution]
        base_key, slurm_key = recipe_keys(release)
        with self._alone():
            base = self._layer(f"{distribution}-base-{base_key}", lambda out: self._build_base(release, out))
            slurm = self._layer(f"{distribution}-slurm-{slurm_key}", lambda out: self._build_slurm(base / "root", out))
        layers = (slurm / "root", base / "root") if variant == "slurm" else (base / "root",)
        return Image(variant, layers, slurm / "packages")

    def _layer(self, name: str, build: Callable[[Path], None]) -> Path:
        place = self._folder / name
        if place.exists():
            return place
        draft = self._folder / f".building-{name}"
        draft.mkdir()
        began = time.monotonic()
        self._say(f"building the image layer {name}")
        build(draft)
        os.rename(draft, place)
        self._say(f"built the image layer {name} in {time.monotonic() - began:.0f} s")
        return place

    def _build_base(self, release: Distribution, out: Path) -> None:
        provide("mmdebstrap", "unshare", say=self._say)
        try:
            fetch_aws_cli(RECIPE / "aws-cli.txt", out / "extra" / "opt" / "aws-cli", release.python)
        except subprocess.CalledProcessError as error:
            raise ImageError(
                f"uv cannot install the AWS CLI into the image: {error.stderr.strip()}",
                "allow access to PyPI, or configure uv to use your package index",
            ) from error
        _run_layer("base", out, release.suite, *release.sources)

    def _build_slurm(self, base: Path, out: Path) -> None:
        provide("unshare", say=self._say)
        _run_layer("slurm", out, str(base))

    @contextmanager
    def _alone(self) -> Generator[None]:
        """Allow one build at a time; the next process uses the image, or removes an incomplete build."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with open(self._folder / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for half in self._folder.glob(".building-*"):
                shutil.rmtree(half)
            yield


def recipe_keys(release: Distribution) -> tuple[str, str]:
    """Return the keys of the base layer and of the Slurm layer, which change with every input of the build.

    Images do not follow changes in the distribution's archive: delete the folder to build them again.
    """
    base = _digest(_BASE, [_AWS_CLI.read_text(), *release.sources, platform.machine()])
    return base, _digest(_SLURM, [base])


def _digest(parts: Iterable[str], additional: Iterable[str]) -> str:
    digest = hashlib.sha256(_LAYER.read_bytes())
    for part in parts:
        place = RECIPE / part
        files = sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() else [place]
        for path in files:
            head = f"{path.relative_to(RECIPE)} {bool(path.stat().st_mode & 0o100)} {path.stat().st_size}\n"
            digest.update(head.encode() + path.read_bytes())
    for line in additional:
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()[:12]


def _run_layer(kind: str, out: Path, *arguments: str) -> None:
    log = out.parent / f"{out.name.removeprefix('.building-')}.log"
    with open(log, "wb") as file:
        done = subprocess.run(
            [*_ALONE, str(_LAYER), kind, str(RECIPE), str(out), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise ImageError(
            f"the image layer was not built, see {log}:\n{tail}",
            "allow access to the package archive, or set LLM_FLEET_DRILL_DEBIAN_MIRROR to the address of a mirror",
        )
