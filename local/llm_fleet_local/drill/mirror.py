"""The mirror from which nodes download pinned files: filled by `llm-fleet mirror build` before they boot."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlparse

from llm_fleet.cli.mirror.locked_file import LockedFile, lock_text
from llm_fleet_local.aws.server import client_environment
from llm_fleet_local.drill.aws_emulator import AwsEmulator, NotDeployed
from tools import training_environment

_CLI = "import sys; from llm_fleet.cli.main import main; sys.exit(main(sys.argv[1:]))"


def fill(aws: AwsEmulator, manifest: Mapping[str, Any]) -> int:
    """Add missing wheels that `manifest` pins to its mirror; return the number of pinned wheels.

    They are read from `.tools/wheels`, to which `make` downloads them. Other types of files are not added.
    Raises `NotDeployed` with the output of the command.
    """
    uri: str | None = manifest["downloads"].get("mirror_s3_uri")
    wheels = [_locked(entry) for entry in manifest["downloads"]["files"] if entry["kind"] == "wheel"]
    if uri is None or not wheels:
        return 0
    place, s3 = urlparse(uri), aws.client("s3")
    if place.netloc not in {bucket["Name"] for bucket in s3.list_buckets()["Buckets"]}:
        s3.create_bucket(Bucket=place.netloc, CreateBucketConfiguration={"LocationConstraint": manifest["region"]})
    with TemporaryDirectory(prefix="drill-mirror-") as folder:
        lock = Path(folder, "wheels.lock.json")
        lock.write_text(lock_text(wheels), encoding="utf-8")
        cache = _cache(wheels, Path(folder, "cache"))
        command = ["mirror", "build", "--lock", str(lock), "--to", uri, "--cache", str(cache)]
        variables = client_environment(aws.endpoint, account="", region=manifest["region"])
        done = subprocess.run(
            [sys.executable, "-c", _CLI, *command],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise NotDeployed(f"llm-fleet {' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return len(wheels)


def _cache(wheels: list[LockedFile], folder: Path) -> Path:
    """Copy local wheels to a folder in the layout of the command's download cache; return the folder."""
    names = [wheel.key.rpartition("/")[2] for wheel in wheels]
    if not all((training_environment.WHEELS / name).is_file() for name in names):
        training_environment.fetch()
    for wheel, name in zip(wheels, names, strict=True):
        target, source = folder / wheel.key, training_environment.WHEELS / name
        target.parent.mkdir(parents=True)
        if source.is_file():
            target.symlink_to(source)
    return folder


def _locked(entry: dict[str, Any]) -> LockedFile:
    values: dict[str, Any] = {**entry, "requires": tuple(entry["requires"])}
    return LockedFile(**values)
