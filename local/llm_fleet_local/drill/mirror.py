"""The mirror from which nodes download pinned files: filled by `llm-fleet mirror build` before they boot."""

from __future__ import annotations

import os
import shutil
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
from llm_fleet_local.drill.work_folder import download_folder

_WHEELS_OF_CHECKOUT = Path(__file__).parents[3] / ".tools" / "wheels"
_CLI = "import sys; from llm_fleet.cli.main import main; sys.exit(main(sys.argv[1:]))"


def fill(aws: AwsEmulator, manifest: Mapping[str, Any]) -> int:
    """Add missing wheels that `manifest` pins to its mirror; return the number of pinned wheels.

    They are downloaded once per user. Other types of files are not added. Raises `NotDeployed`.
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
        _take_from_checkout(wheels)
        command = ["mirror", "build", "--lock", str(lock), "--to", uri, "--cache", str(download_folder())]
        variables = client_environment(aws.endpoint, account="", region=manifest["region"])
        done = subprocess.run(
            [sys.executable, "-c", _CLI, *command],
            cwd=folder,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise NotDeployed(
            f"llm-fleet {' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}",
            f"allow these downloads, or put the files into {download_folder()}, each in a folder that is named as its "
            "sha256 in the lock file",
        )
    return len(wheels)


def _take_from_checkout(wheels: list[LockedFile]) -> None:
    """Link or copy the wheels that `make` has downloaded with pip, which reads the machine's package settings."""
    for wheel in wheels:
        target = download_folder() / wheel.key
        source = _WHEELS_OF_CHECKOUT / target.name
        if source.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                target.hardlink_to(source)
            except FileExistsError:  # another drill has linked it meanwhile
                continue
            except OSError:  # another file system
                draft = target.with_name(f".{target.name}.{os.getpid()}")
                shutil.copyfile(source, draft)
                draft.rename(target)


def _locked(entry: dict[str, Any]) -> LockedFile:
    values: dict[str, Any] = {**entry, "requires": tuple(entry["requires"])}
    return LockedFile(**values)
