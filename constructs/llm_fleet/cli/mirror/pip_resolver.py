"""Lets pip work out what packages need, for another machine than this one, and believes no index beyond its own."""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from llm_fleet.cli.failure import refuse
from llm_fleet.cli.mirror.index_page import IndexedFile
from llm_fleet.cli.mirror.locked_file import LockedFile
from llm_fleet.cli.mirror.one_index import Indexes, OneIndex, serve_one_index
from llm_fleet.cli.mirror.requires import Resolved, requirements_within
from llm_fleet.cli.mirror.wheel_index import locked_wheel
from llm_fleet.cli.mirror.wheel_tags import platforms_of
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.training.locked import plain

_SECONDS = 1800
_OLDEST = (22, 2)
"""The first pip that reports."""
_KEPT = ("PIP_CERT", "PIP_CLIENT_CERT", "PIP_PROXY", "PIP_DEFAULT_TIMEOUT", "PIP_RETRIES")
"""Settings of this machine that only tell how to reach others."""
_SIDE_BY_SIDE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class PipResolver:
    """Resolves for CPython `python` on `system`."""

    python: str
    system: str
    indexes: Indexes
    interpreter: str | None = None
    """The Python whose pip is run, of the same version: pip judges conditions of requirements by its own. Default:
    `pythonX.Y` of the path."""

    def resolve(self, requirements: Sequence[str], scratch: Path) -> list[LockedFile]:
        """Return the wheels that `requirements` come down to. `scratch`: an empty folder. Raises `FleetError`."""
        asked = scratch / "requirements.txt"
        asked.write_text("".join(f"{line}\n" for line in requirements), encoding="utf-8")
        report = scratch / "report.json"
        with serve_one_index(self.indexes) as index:
            done = self._run(self._command(index, asked, report, scratch / "none"))
            if done.returncode:
                self._refuse(index, done, requirements)
            found = [_resolved(item) for item in json.loads(report.read_text(encoding="utf-8"))["install"]]
            return self._locked(found, index)

    def _locked(self, found: Sequence[Resolved], index: OneIndex) -> list[LockedFile]:
        needs = requirements_within(found, python=self.python, system=self.system)

        def lock(each: Resolved) -> LockedFile:
            file = index.files.get(unquote(each.url)) or IndexedFile(url=each.url, sha256=each.sha256)
            return locked_wheel(file, each.name, each.version, system=self.system, requires=needs[each.name])

        with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
            return list(pool.map(lock, found))

    def _command(self, index: OneIndex, asked: Path, report: Path, target: Path) -> list[str]:
        digits = self.python.replace(".", "")
        platforms = [option for platform in platforms_of(self.system) for option in ("--platform", platform)]
        return [
            *(self._interpreter(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"),
            *("--no-cache-dir", "--dry-run", "--ignore-installed", "--report", str(report), "--target", str(target)),
            *("--index-url", index.url, "--only-binary", ":all:", "--python-version", self.python),
            *("--implementation", "cp", "--abi", f"cp{digits}", "--abi", "abi3", "--abi", "none", *platforms),
            *("--requirement", str(asked)),
        ]

    def _interpreter(self) -> str:
        """Return a Python of the version with a pip that reports."""
        named = self.interpreter or shutil.which(f"python{self.python}")
        make = f"`python{self.python} -m venv P && P/bin/pip install -U pip`, and name it: --interpreter P/bin/python"
        if named is None:
            refuse(
                Code.LOCK_WHEEL, f"there is no python{self.python} here, whose pip would resolve", f"make one: {make}"
            )
        program = "import sys, pip; print(*sys.version_info[:2], *pip.__version__.split('.')[:2])"
        done = self._run([named, "-c", program])
        if done.returncode:
            refuse(Code.LOCK_WHEEL, f"{named} has no pip: {done.stderr.strip()[-200:]}", f"make one: {make}")
        numbers = [int("".join(filter(str.isdigit, part))) for part in done.stdout.split()]
        if ".".join(map(str, numbers[:2])) != self.python:
            refuse(Code.LOCK_WHEEL, f"{named} is no Python {self.python}", f"make one: {make}", value=named)
        if tuple(numbers[2:]) < _OLDEST:
            refuse(Code.LOCK_WHEEL, f"the pip of {named} is too old to report", f"make one: {make}", value=named)
        return named

    def _run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        # Nothing of this machine's settings: an index or a folder of wheels in them would be asked too.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_") or name in _KEPT}
        environment = {**kept, "PIP_CONFIG_FILE": os.devnull, "PYTHONNOUSERSITE": "1"}
        try:
            return subprocess.run(  # noqa: S603 - a list, without a shell
                command, check=False, capture_output=True, text=True, timeout=_SECONDS, env=environment
            )
        except OSError as error:
            refuse(Code.LOCK_WHEEL, f"{command[0]} cannot be run: {error.strerror}", "name another with --interpreter")
        except subprocess.TimeoutExpired:
            refuse(Code.LOCK_WHEEL, f"pip did not end within {_SECONDS} s", "see that each index can be reached")

    def _refuse(self, index: OneIndex, done: subprocess.CompletedProcess[str], requirements: Sequence[str]) -> None:
        if index.failures:
            raise FleetError([problem for error in index.failures[:3] for problem in error.problems])
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        said = "\n".join(lines[-6:])
        remedy = "name versions that go together and have wheels, or the index that has what is missing"
        shown = ", ".join(requirements)
        message = f"pip cannot resolve this for Python {self.python} on {self.system}: {said}"
        refuse(Code.LOCK_WHEEL, message, remedy, value=shown)


def _resolved(item: dict[str, Any]) -> Resolved:
    metadata, download = item["metadata"], item["download_info"]
    archive = download.get("archive_info", {})
    told = archive.get("hashes", {}).get("sha256") or str(archive.get("hash", "")).removeprefix("sha256=")
    return Resolved(
        # As indexes write it: the same package is PyYAML, pyyaml and PyYaml in metadata of different ages.
        name=plain(metadata["name"]),
        version=metadata["version"],
        url=download["url"],
        sha256=told,
        requires=tuple(metadata.get("requires_dist", ())),
        extras=frozenset(item.get("requested_extras", ())),
    )
