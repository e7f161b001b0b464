"""dnf and rpm: Amazon Linux 2023."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from llm_fleet_node.failures import Code, Failure, fail
from llm_fleet_node.host import CommandFailed
from llm_fleet_node.package_managers.manager import INSTALL_SECONDS, LOCK_SECONDS, PackageManager

_CONFIGURATION = "/etc/dnf/dnf.conf"
_HELD = "excludepkgs="
_WAITING = "Waiting for process with pid"
"""dnf's message while it waits for another dnf, without a timeout."""


class Dnf(PackageManager):
    """dnf with rpm."""

    def versions(self, names: Iterable[str]) -> dict[str, str]:
        """Query rpm once for all packages."""
        wanted = list(names)
        if not wanted:
            return {}
        try:
            reported = self.host.run("rpm", "-q", "--qf", "%{NAME} %{VERSION}-%{RELEASE}\n", *wanted)
        except CommandFailed as error:  # Its exit code is the number of missing packages.
            reported = error.output
        return dict(re.findall(r"^(\S+) (\S+)$", reported, re.MULTILINE))

    def is_older(self, version: str, other: str) -> bool:
        """Compare with rpm."""
        script = f"%{{lua:print(rpm.vercmp('{version}', '{other}'))}}"
        return self.host.run("rpm", "--eval", script).strip() == "-1"

    def repair(self) -> None:
        """Do nothing: an interrupted rpm transaction leaves packages as not installed."""

    def install(self, files: Sequence[Path], *, changes: str) -> None:
        """Install the files with dnf, without repositories. Checksums are verified, so signatures are not checked."""
        try:
            self.host.run(
                *("dnf", "install", "--assumeyes", "--quiet", "--disablerepo=*", "--disableexcludes=all"),
                *("--nogpgcheck", "--setopt=install_weak_deps=False"),
                *map(str, files),
                timeout=LOCK_SECONDS + INSTALL_SECONDS,
                changes=changes,
            )
        except CommandFailed as error:
            if error.returncode is None and _WAITING in error.output:
                raise Failure(Code.PACKAGES_LOCKED, f"after {LOCK_SECONDS} s: {error.cause}") from error
            raise

    def held(self) -> set[str]:
        """Read the excluded packages of dnf's configuration."""
        line = _excluded(self.host.read(_CONFIGURATION) or "")
        return set(line[len(_HELD) :].replace(",", " ").split())

    def hold(self, names: Iterable[str]) -> None:
        """Exclude them from upgrades in dnf's configuration: versionlock is a plugin that not all images have."""
        text = self.host.read(_CONFIGURATION)
        if text is None or "[main]\n" not in text:
            fail(Code.PACKAGES_BROKEN, f"{_CONFIGURATION} has no section [main] for the excluded packages")
        line, held = _excluded(text), self.held()
        wanted = held.union(names)
        if wanted == held:
            return
        changed = _HELD + " ".join(sorted(wanted))
        before, after = (line, changed) if line else ("[main]\n", f"[main]\n{changed}\n")
        self.host.write(_CONFIGURATION, text.replace(before, after, 1))


def _excluded(text: str) -> str:
    return next((line for line in text.splitlines() if line.startswith(_HELD)), "")
