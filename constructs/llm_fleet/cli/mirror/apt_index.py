"""Resolves apt packages in a separate root: signed indexes only, without the settings of this machine.

apt resolves; only records and names are parsed from its output, in four lines. `python-debian` would need as many,
and would be another dependency.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote

from llm_fleet.cli.mirror.locked_file import LockedFile
from llm_fleet.cli.verb import refuse
from llm_fleet.rules.codes import Code

_SECONDS = 600
_SETTINGS = "apt.conf"
# With any value: apt accepts `yes`, `true`, `on`, `1` and more.
_UNSIGNED = re.compile(r"\b(trusted|allow-(insecure|weak|downgrade-to-insecure))\s*[+-]?[=:]", re.IGNORECASE)
_URI = re.compile(r"^'(?P<url>[^']+)' (?P<file>\S+\.deb) \d+", re.MULTILINE)
_FOLDERS = (
    *("etc/apt/apt.conf.d", "etc/apt/preferences.d", "etc/apt/sources.list.d", "etc/apt/trusted.gpg.d"),
    *("var/lib/dpkg", "var/lib/apt/lists/partial", "var/cache/apt/archives/partial"),
)
Wanted = tuple[str, str]
"""Name and version of a package; any version when empty, or its beginning: `2.30.51.0` for `2.30.51.0-6a1f`."""


class AptIndex:
    """The packages of signed repositories for one system."""

    def __init__(
        self, root: Path, *, system: str, sources: Sequence[Path], keyrings: Sequence[Path], installed: Path | None
    ) -> None:
        """Download the indexes of `sources` into `root`, an empty directory; apt verifies their signatures.

        `keyrings` are trusted for sources without their own key. `installed`: a dpkg status file of the nodes' image,
        whose packages need not be pinned. Raises `FleetError`.
        """
        if shutil.which("apt-get") is None:
            remedy = "run this command on Debian or Ubuntu, or in such a container"
            refuse(Code.LOCK_SYSTEM, "apt is not installed; it resolves packages and verifies signatures", remedy)
        self._root = root
        self._system = system
        root.chmod(0o755)  # apt reads it as an unprivileged user.
        for folder in _FOLDERS:
            (root / folder).mkdir(parents=True)
        self._take(sources, "etc/apt/sources.list.d", Code.LOCK_SOURCES)
        self._take(keyrings, "etc/apt/trusted.gpg.d", Code.LOCK_SOURCES)
        status = root / "var/lib/dpkg/status"
        status.write_bytes(_read(installed, Code.LOCK_SYSTEM) if installed else b"")
        self._configure()
        self._update()

    def resolve(self, wanted: Iterable[Wanted]) -> list[LockedFile]:
        """Return the packages `wanted` and their dependencies without those of the image, as one installable set."""
        requested = [f"{name}={self._version(name, version)}" for name, version in wanted]
        done = self._run("apt-get", "install", "--print-uris", "--yes", "--quiet", *_INSTALL, *requested)
        if done.returncode:
            remedy = "choose compatible versions, or add the repository with the missing packages"
            refuse(Code.LOCK_PACKAGE, f"apt cannot install {', '.join(requested)} together: {_said(done)}", remedy)
        urls = {unquote(match["file"]): match["url"] for match in _URI.finditer(done.stdout)}
        records = self._records([_name_and_version(file) for file in urls])
        return [self._locked(record, urls, records) for record in records]

    def _version(self, name: str, version: str) -> str:
        """Return the newest version that is `version` or begins with it and a hyphen."""
        done = self._run("apt-cache", "madison", name)
        offered = [line.split("|")[1].strip() for line in done.stdout.splitlines() if line.count("|") >= 2]
        for each in offered:
            upstream = each.split(":", 1)[-1]
            if not version or version in (each, upstream) or upstream.startswith(f"{version}-"):
                return each
        if offered:
            remedy = f"choose one of {', '.join(dict.fromkeys(offered))}"
            refuse(Code.LOCK_PACKAGE, f"the repositories have no {name} {version}", remedy, value=f"{name}={version}")
        remedy = "check its spelling, or add its repository to the sources"
        refuse(Code.LOCK_PACKAGE, f"unknown package {name}: no repository has it", remedy, value=name)

    def _records(self, packages: Sequence[Wanted]) -> list[dict[str, str]]:
        done = self._run("apt-cache", "show", *(f"{name}={version}" for name, version in packages))
        found: dict[Wanted, dict[str, str]] = {}
        for text in done.stdout.split("\n\n"):
            record = dict(re.findall(r"^([A-Za-z0-9-]+): (.*)$", text, re.MULTILINE))
            if "SHA256" in record and "Filename" in record:
                found.setdefault((record["Package"], record["Version"]), record)
        missing = [f"{name}={version}" for name, version in packages if (name, version) not in found]
        if missing:
            remedy = "ask the maintainer of the repository for an index with SHA-256 checksums"
            refuse(Code.LOCK_PACKAGE, f"the index has no SHA-256 of {', '.join(missing)}", remedy)
        return [found[package] for package in packages]

    def _locked(self, record: dict[str, str], urls: dict[str, str], records: list[dict[str, str]]) -> LockedFile:
        name, version = record["Package"], record["Version"]
        return LockedFile(
            name=name,
            version=version,
            kind="deb",
            system=self._system,
            url=urls[f"{name}_{version}_{record['Architecture']}.deb"],
            sha256=record["SHA256"],
            size=int(record["Size"]),
            requires=tuple(_requires(record, records)),
        )

    def _update(self) -> None:
        done = self._run("apt-get", "update", "--quiet")
        said = _said(done)
        if done.returncode or re.search(r"^(E|Err|W): ?.*(sign|NO_PUBKEY|Failed to fetch)", said, re.MULTILINE):
            remedy = "set the repository's key with --keyring, and check that this machine can connect to each source"
            refuse(Code.LOCK_SOURCES, f"apt rejects the repositories: {said}", remedy)

    def _take(self, files: Sequence[Path], folder: str, code: Code) -> None:
        for number, path in enumerate(files):
            content = _read(path, code)
            if folder.endswith("sources.list.d") and _UNSIGNED.search(content.decode("utf-8", "replace")):
                remedy = "remove the option and set the repository's key with --keyring"
                refuse(code, "a source must not set whether apt verifies signatures", remedy, subject=str(path))
            suffix = path.suffix if path.suffix in (".sources", ".list", ".gpg", ".asc") else _SUFFIXES[folder]
            (self._root / folder / f"{number}{suffix}").write_bytes(content)

    def _configure(self) -> None:
        """Write apt's configuration, which replaces the machine's; proxies come from the environment."""
        architecture = self._system.rsplit("-", 1)[-1]
        settings = {
            "Dir": str(self._root),
            "Dir::State::status": str(self._root / "var/lib/dpkg/status"),
            "Dir::Etc::trusted": "/dev/null",
            "Dir::Bin::methods": "/usr/lib/apt/methods",
            "Dir::Bin::dpkg": "/usr/bin/dpkg",
            "APT::Architecture": architecture,
            "APT::Architectures": architecture,
            "Acquire::Languages": "none",
            "Acquire::Retries": "3",
            "Acquire::AllowInsecureRepositories": "false",
            "Acquire::AllowWeakRepositories": "false",
            "Acquire::AllowDowngradeToInsecureRepositories": "false",
            "APT::Update::Error-Mode": "any",
        }
        text = "".join(f'{name} "{value}";\n' for name, value in settings.items())
        (self._root / _SETTINGS).write_text(text, encoding="utf-8")

    def _run(self, *command: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(  # noqa: S603 - a list, without a shell
                command,
                check=False,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                env={**os.environ, "LC_ALL": "C.UTF-8", "APT_CONFIG": str(self._root / _SETTINGS)},
            )
        except subprocess.TimeoutExpired:
            remedy = "check that this machine can connect to each source, and try again"
            refuse(Code.LOCK_SOURCES, f"{command[0]} {command[1]} did not end within {_SECONDS} s", remedy)


_INSTALL = ("--no-install-recommends", "--reinstall", "--allow-downgrades")
_SUFFIXES = {"etc/apt/sources.list.d": ".list", "etc/apt/trusted.gpg.d": ".gpg"}


def _requires(record: dict[str, str], records: list[dict[str, str]]) -> Iterable[str]:
    """Yield the names in `records` that `record` depends on, by name or by `Provides`."""
    wanted = _names(f"{record.get('Pre-Depends', '')},{record.get('Depends', '')}")
    for other in records:
        if other is not record and wanted & {other["Package"], *_names(other.get("Provides", ""))}:
            yield other["Package"]


def _names(relations: str) -> set[str]:
    """Return the names in e.g. `libc6 (>= 2.36), debconf | debconf-2.0, python3:any`."""
    pieces = re.split(r"[,|]", relations)
    return {name for piece in pieces if (name := re.split(r"[\s:(]", piece.strip(), maxsplit=1)[0])}


def _name_and_version(file: str) -> Wanted:
    name, version, _ = file.rsplit("_", 2)
    return name, version


def _read(path: Path, code: Code) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        refuse(code, f"cannot read the file: {error.strerror}", "choose another file", subject=str(path))


def _said(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in (done.stdout + done.stderr).splitlines() if re.match(r"\s*(E|W|Err|Depends|\S+ :)", line)]
    return "\n".join(line.strip() for line in lines[-8:]) or done.stderr.strip()[-500:]
