"""Lets uv work out what packages need, for another machine than this one, from no index beyond those named."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from llm_fleet.cli.failure import refuse
from llm_fleet.cli.mirror.index_page import IndexedFile
from llm_fleet.cli.mirror.locked_file import LockedFile
from llm_fleet.cli.mirror.one_index import Indexes, OneIndex, serve_one_index
from llm_fleet.cli.mirror.wheel_index import best_wheel, locked_wheel
from llm_fleet.cli.mirror.wheel_tags import machine_of, platforms_of
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.training.locked import plain

_SECONDS = 1800
_KEPT = ("UV_HTTP_TIMEOUT", "UV_HTTP_RETRIES")
"""Settings of this machine that only say how to reach others."""
_GLIBC = (17, 28, *range(31, 41))
"""The minor versions of glibc 2.x for which uv resolves: see `uv pip compile --help`, `--python-platform`."""
_SIDE_BY_SIDE = 8
_PIN = re.compile(r"(?P<name>[\w.-]+)(==(?P<version>\S+)| @ (?P<url>\S+))\s+# via (?P<via>.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    """Resolves for CPython `python`, e.g. `3.11`, on `system`, e.g. `ubuntu-24.04-amd64`."""

    python: str
    system: str
    indexes: Indexes

    def resolve(self, requirements: Sequence[str], scratch: Path) -> list[LockedFile]:
        """Return the wheels that `requirements` come down to. `scratch`: an empty folder. Raises `FleetError`."""
        asked = scratch / "requirements.txt"
        asked.write_text("".join(f"{line}\n" for line in requirements), encoding="utf-8")
        with serve_one_index(self.indexes) as index:
            done = _run(self._command(index, asked))
            if done.returncode:
                self._refuse(index, done.stderr, requirements)
            return self._locked(done.stdout, index)

    def _locked(self, resolved: str, index: OneIndex) -> list[LockedFile]:
        """Return the files of the requirements that uv wrote, each with those of them that need it."""
        pins = [match for line in resolved.splitlines() if (match := _PIN.match(line))]
        needs: dict[str, list[str]] = {plain(pin["name"]): [] for pin in pins}
        for pin in pins:
            for other in pin["via"].split(", "):
                if other in needs:
                    needs[other].append(plain(pin["name"]))

        def lock(pin: re.Match[str]) -> LockedFile:
            return self._lock(pin, index, needs[plain(pin["name"])])

        with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
            return list(pool.map(lock, pins))

    def _lock(self, pin: re.Match[str], index: OneIndex, requires: Sequence[str]) -> LockedFile:
        name, version = plain(pin["name"]), pin["version"]
        if pin["url"]:
            url, _, sha256 = pin["url"].partition("#sha256=")
            file = IndexedFile(url=url, sha256=sha256)
            version = file.name.split("-")[1]
        else:
            file = best_wheel(index.wheels[name], name, version, python=self.python, system=self.system)
            assert file, f"uv has chosen {name} {version} by a wheel that the index named"
        return locked_wheel(file, name, version, system=self.system, requires=requires)

    def _command(self, index: OneIndex, asked: Path) -> list[str]:
        newest = int(platforms_of(self.system)[0].split("_")[2])
        platform = f"{machine_of(self.system)}-manylinux_2_{max(minor for minor in _GLIBC if minor <= newest)}"
        return [
            *(_uv(), "pip", "compile", "--quiet", "--color", "never", "--no-config", "--no-cache", "--system-certs"),
            *("--python", sys.executable, "--no-python-downloads", "--no-header", "--annotation-style", "line"),
            *("--default-index", index.url, "--only-binary", ":all:"),
            *("--python-version", self.python, "--python-platform", platform, str(asked)),
        ]

    def _refuse(self, index: OneIndex, said: str, requirements: Sequence[str]) -> None:
        if index.failures:
            raise FleetError([problem for error in index.failures[:3] for problem in error.problems])
        # Its message is a few lines with a heading each; a hint after them advises options of uv's own.
        lines = said.partition("\nhint:")[0].split()
        reason = " ".join(lines).replace("No solution found when resolving dependencies cause: ", "")
        remedy = "name versions that go together and have wheels, or the index that has what is missing"
        said = reason.removeprefix("error: ")
        message = f"these requirements cannot be resolved for Python {self.python} on {self.system}: {said}"
        refuse(Code.LOCK_WHEEL, message, remedy, value=", ".join(requirements))


def _uv() -> str:
    try:
        from uv import find_uv_bin

        return find_uv_bin()
    except (ImportError, FileNotFoundError):
        message = "packages are resolved by `uv`, which is not installed in this environment"
        refuse(Code.LOCK_WHEEL, message, "run `pip install 'llm-fleet[mirror]'`")


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    # None of this machine's settings: an index or a folder of wheels in them would be asked too.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("UV_") or name in _KEPT}
    # Our own index is on this machine, which no proxy reaches.
    unproxied = ",".join(filter(None, (kept.get("NO_PROXY", kept.get("no_proxy", "")), "127.0.0.1")))
    environment = {**kept, "NO_PROXY": unproxied, "no_proxy": unproxied}
    try:
        return subprocess.run(  # noqa: S603 - a list, without a shell
            command, check=False, capture_output=True, text=True, timeout=_SECONDS, env=environment
        )
    except OSError as error:
        refuse(Code.LOCK_WHEEL, f"{command[0]} cannot be run: {error.strerror}", "install `uv` anew")
    except subprocess.TimeoutExpired:
        refuse(Code.LOCK_WHEEL, f"uv did not end within {_SECONDS} s", "check that each index can be reached")
