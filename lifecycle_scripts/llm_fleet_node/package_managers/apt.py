"""apt and dpkg: Debian and Ubuntu."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from llm_fleet_node.failures import Code, Failure, fail
from llm_fleet_node.host import CommandFailed
from llm_fleet_node.package_managers.manager import INSTALL_SECONDS, LOCK_SECONDS, PackageManager
from llm_fleet_node.waiting import wait_for

_STATUS, _UPDATES = "/var/lib/dpkg/status", "/var/lib/dpkg/updates"
_OWN = "/var/lib/llm-fleet/apt"
"""Empty folder instead of apt's lists and archives, so that apt uses only the given and the installed packages, and
does not wait for a lock on the real folders."""
_KEEP_SETTINGS = ("--force-confdef", "--force-confold")
"""Non-interactive: keep a changed configuration file."""
_SETTLED = frozenset({"installed", "not-installed", "config-files"})
_QUIET = {"DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_MODE": "l", "APT_LISTCHANGES_FRONTEND": "none"}
_LOCKED = ("Could not get lock", "Unable to acquire the dpkg", "locked by another process")


class Apt(PackageManager):
    """apt with dpkg."""

    def versions(self, names: Iterable[str]) -> dict[str, str]:
        """Read dpkg's status file: as reliable as dpkg-query, without a process."""
        wanted, found = set(names), dict[str, str]()
        for package in self._packages():
            if package["Package"] in wanted and package["Status"].split()[2:] == ["installed"]:
                found[package["Package"]] = package["Version"]
        return found

    def is_older(self, version: str, other: str) -> bool:
        """Compare with dpkg."""
        return self.host.succeeds("dpkg", "--compare-versions", version, "lt", other)

    def repair(self) -> None:
        """Configure unpacked packages, after other programs have released dpkg's lock."""
        if self._settled():
            return
        wait_for(
            "free lock of dpkg, which another program holds,",
            self._configure,
            seconds=LOCK_SECONDS,
            code=Code.PACKAGES_LOCKED,
        )

    def install(self, files: Sequence[Path], *, changes: str) -> None:
        """Install the files with apt, without any repository."""
        for folder in ("lists/partial", "archives/partial"):
            self.host.path(f"{_OWN}/{folder}").mkdir(parents=True, exist_ok=True)
        try:
            self.host.run(
                *("apt-get", "install", "--quiet", "--yes", "--no-install-recommends", "--no-remove"),
                # Reinstall: apt considers a package whose installation was killed as installed.
                *("--reinstall", "--allow-downgrades", "--allow-change-held-packages"),
                *self._options(),
                *map(str, files),
                timeout=LOCK_SECONDS + INSTALL_SECONDS,
                env=_QUIET,
                changes=changes,
            )
        except CommandFailed as error:
            if _is_lock(error):
                raise Failure(Code.PACKAGES_LOCKED, f"after {LOCK_SECONDS} s: {error.cause}") from error
            raise

    def held(self) -> set[str]:
        """Read dpkg's selections."""
        return {package["Package"] for package in self._packages() if package["Status"].startswith("hold ")}

    def hold(self, names: Iterable[str]) -> None:
        """Hold the packages in dpkg's selections, as `apt-mark hold` does."""
        loose = sorted(set(names) - self.held())
        if loose:
            lines = "".join(f"{name} hold\n" for name in loose)
            self.host.run("dpkg", "--set-selections", input=lines, changes=f"held {', '.join(loose)}")

    def _options(self) -> Iterator[str]:
        own = self.host.path(_OWN)
        for option in (
            f"DPkg::Lock::Timeout={LOCK_SECONDS}",
            *(f"DPkg::Options::={option}" for option in _KEEP_SETTINGS),
            "Dir::Etc::sourcelist=/dev/null",
            "Dir::Etc::sourceparts=/dev/null",
            f"Dir::State::lists={own}/lists",
            f"Dir::Cache::archives={own}/archives",
            "Dir::Cache::pkgcache=",
            "Dir::Cache::srcpkgcache=",
        ):
            yield from ("-o", option)

    def _packages(self) -> Iterator[dict[str, str]]:
        """Yield name, status and version of every package in dpkg's status file."""
        for record in (self.host.read(_STATUS) or "").split("\n\n"):
            fields = dict(re.findall(r"^(Package|Status|Version): (.*)$", record, re.MULTILINE))
            if "Package" in fields:
                yield {"Status": "unknown ok not-installed", "Version": "", **fields}

    def _settled(self) -> bool:
        updates = self.host.path(_UPDATES)
        if updates.is_dir() and any(entry.name.isdigit() for entry in updates.iterdir()):
            return False
        return all(package["Status"].split()[-1] in _SETTLED for package in self._packages())

    def _configure(self) -> bool:
        """Return whether `dpkg --configure` succeeded; false while another program holds the lock."""
        try:
            self.host.run(
                *("dpkg", "--configure", "-a", *_KEEP_SETTINGS),
                timeout=INSTALL_SECONDS,
                env=_QUIET,
                changes="configured packages whose installation was interrupted",
            )
        except CommandFailed as error:
            if _is_lock(error):
                return False
            fail(Code.PACKAGES_BROKEN, error.cause)
        return True


def _is_lock(error: CommandFailed) -> bool:
    return any(sign in error.output for sign in _LOCKED)
