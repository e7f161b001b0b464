"""Runs every day-two command for a deployed example, with its output and exit code."""

import contextlib
import io
import os
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from llm_fleet.cli.main import main
from llm_fleet_local.aws.client import LocalAws


@dataclass(frozen=True, slots=True)
class Said:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


def every_verb(aws: LocalAws, fleet: Path, assembly: Path, place: str, folder: Path) -> Mapping[str, Said]:
    """Run each verb about `place` of the fleet file, in this process; no one opens a session."""
    archive = folder / "bundle.tar.gz"
    file = ("-f", str(fleet))
    words = {
        "check": (str(fleet),),
        "plan": (str(fleet), "--assembly", str(assembly), "--deployed"),
        "nodes": (place, *file, "--no-slurm"),
        "connect": ("--cluster", place, *file, "--print"),
        "logs": (place, *file),
        "events": (place, *file),
        "upgrade": (place, *file, "--no-session"),
        "bundle": (place, *file, "--no-session", "-o", str(archive)),
    }
    with mock.patch.dict(os.environ, aws.environment):
        said = {verb: _said(verb, *given) for verb, given in words.items()}
    with tarfile.open(archive) as packed:
        assert any(name.endswith("manifest.json") for name in packed.getnames()), packed.getnames()
    return said


def _said(*words: str) -> Said:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = main(words)
    return Said(code, out.getvalue(), err.getvalue())
