"""The pieces of a bundle that this machine has: versions, the fleet file, and what it comes to."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm_fleet.cli.bundle.piece import Found, Piece

if TYPE_CHECKING:
    from llm_fleet.config.fleet import Fleet

_PACKAGES = ("llm-fleet", "boto3", "botocore", "aws-cdk-lib", "pydantic", "rich")
_SETTINGS = ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_MAX_ATTEMPTS", "AWS_ENDPOINT_URL", "TERM", "LANG")


def machine_pieces(file: Path | None, fleet: "Fleet | None") -> list[Piece]:
    """Return the pieces."""
    pieces = [Piece("versions.json", _versions)]
    if file is not None:
        pieces.append(Piece("fleet.yaml", lambda: file.read_text(encoding="utf-8", errors="backslashreplace")))
    if fleet is not None:
        pieces.append(Piece("machines.json", lambda: _machines(fleet)))
    return pieces


def _versions() -> Found:
    return {
        "packages": {name: _version(name) for name in _PACKAGES},
        "python": sys.version,
        "platform": platform.platform(),
        "command": Path(sys.argv[0]).name,
        "settings": {name: os.environ[name] for name in _SETTINGS if name in os.environ},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _machines(fleet: "Fleet") -> Found:
    """Return what the fleet would have running, by its file."""
    from llm_fleet.needs.machines import machines_of

    told: list[Any] = [
        {
            "owner": one.owner,
            "service": str(one.service),
            "instance_types": list(one.instance_types),
            "count": one.count,
            "availability_zones": list(one.availability_zone_ids),
        }
        for one in machines_of(fleet)
    ]
    return told
