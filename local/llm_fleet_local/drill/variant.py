"""Variants of a fleet file for scenarios and bench: another number of workers or another training environment."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import yaml


def write_variant(fleet_file: Path, folder: Path, *, workers: int, packages: Sequence[str] | None = None) -> Path:
    """Write the fleet file with `workers` nodes in its first Compute group to `folder`; return the file.

    `packages`: those of its training environments, instead of the default ones; if empty, training is not installed
    and nothing is downloaded for it. `jobs` are removed, because they are not used.
    """
    fleet = cast("dict[str, Any]", yaml.safe_load(fleet_file.read_text(encoding="utf-8")))
    fleet.pop("jobs", None)
    cluster: dict[str, Any] = next(iter(fleet["clusters"].values()))
    next(group for group in cluster["groups"].values() if group["role"] == "compute")["count"] = workers
    if "downloads" in cluster:
        cluster["downloads"]["lock"] = str(fleet_file.parent / cluster["downloads"]["lock"])
    certificate = cluster.get("directory", {}).get("ca_certificate", "/")
    if not certificate.startswith("/"):
        shutil.copy(fleet_file.parent / certificate, folder)
    if packages is not None and "training" in cluster:
        _train_with(cluster, list(packages))
    target = folder / fleet_file.name
    target.write_text(yaml.safe_dump(fleet, sort_keys=False), encoding="utf-8")
    return target


def _train_with(cluster: dict[str, Any], packages: list[str]) -> None:
    if not packages:
        del cluster["training"], cluster["downloads"]
        return
    for environment in cluster["training"]["environments"].values():
        environment["packages"] = packages
