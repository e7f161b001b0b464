"""A signed apt repository of stub packages in a folder, like a vendor's: with real dpkg-deb and real signatures.

Source: emulation, a real repository with stub packages
"""

from __future__ import annotations

import gzip
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path

from llm_fleet.catalog.neuron import DRIVER, neuron_release, neuron_releases

NEEDED = ("dpkg-deb", "gpg", "gpgconf")
"""Programs that are required."""
_PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class StubPackage:
    """A package with almost no content."""

    name: str
    version: str
    architecture: str = "amd64"
    depends: str = ""
    """As in a control file, e.g. `libc6 (>= 2.36)`."""
    provides: str = ""
    """As in a control file, e.g. `mail-transport-agent`."""
    conflicts: str = ""
    """As in a control file."""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """Files in it: text by absolute path."""
    scripts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Maintainer scripts: text by name, e.g. `postinst`."""

    @property
    def file_name(self) -> str:
        """Name of its file, without the version's epoch."""
        return f"{self.name}_{self.version.split(':')[-1]}_{self.architecture}.deb"


@dataclass(frozen=True)
class AptRepository:
    """A repository in a folder."""

    folder: Path
    suite: str
    keyring: Path
    """Its public key, in binary format, as `signed-by` requires it."""

    @property
    def source(self) -> str:
        """Its line for a `sources.list`."""
        return f"deb file:{self.folder} {self.suite} main"


def neuron_packages(*releases: str) -> list[StubPackage]:
    """Return stubs of the host's packages of Neuron `releases`, by default of all in the catalog.

    Like the vendor's, versions have a last part that is not in the release notes, except versions of the driver.
    """
    found: dict[tuple[str, str], StubPackage] = {}
    for release in map(neuron_release, releases or neuron_releases()):
        for name, version in release.host.items():
            full = version if name == DRIVER else f"{version}-{hashlib.sha256(version.encode()).hexdigest()[:9]}"
            found[name, version] = StubPackage(
                name,
                full,
                architecture="all" if name == DRIVER else "amd64",
                files=_neuron_files(name, version),
            )
    return list(found.values())


def build(folder: Path, packages: Iterable[StubPackage], *, suite: str = "stable") -> AptRepository:
    """Create a repository of `packages` in `folder`, which must not exist, signed with a new key. Takes about 1 s."""
    for program in NEEDED:
        if shutil.which(program) is None:
            raise FileNotFoundError(f"{program} is needed to make a package repository")
    pool = folder / "pool"
    pool.mkdir(parents=True)
    records = [_record(folder, _pack(pool, package)) for package in packages]
    lists = folder / "dists" / suite
    index = lists / "main" / "binary-amd64"
    index.mkdir(parents=True)
    text = "\n".join(records).encode()
    (index / "Packages").write_bytes(text)
    (index / "Packages.gz").write_bytes(gzip.compress(text, mtime=0))
    (lists / "Release").write_text(_release(lists, suite))
    keyring = folder / "key.gpg"
    _sign(lists, keyring)
    return AptRepository(folder=folder, suite=suite, keyring=keyring)


def _neuron_files(name: str, version: str) -> dict[str, str]:
    if name == "aws-neuronx-tools":
        return {"/opt/aws/neuron/bin/neuron-ls": (_PROGRAMS / "neuron-ls").read_text(encoding="utf-8")}
    return {f"/opt/aws/neuron/share/{name}": f"{version}\n"}


def _pack(pool: Path, package: StubPackage) -> Path:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place, "root")
        control = root / "DEBIAN"
        control.mkdir(parents=True)
        root.chmod(0o755)
        relations = {"Depends": package.depends, "Provides": package.provides, "Conflicts": package.conflicts}
        fields = "".join(f"{name}: {value}\n" for name, value in relations.items() if value)
        (control / "control").write_text(
            f"Package: {package.name}\nVersion: {package.version}\nArchitecture: {package.architecture}\n"
            f"Maintainer: drill <drill@example.com>\n{fields}Description: stub for drills\n"
        )
        for path, text in package.files.items():
            _write(root / path.lstrip("/"), text)
        for script, text in package.scripts.items():
            _write(control / script, text)
        target = pool / package.file_name
        _run("dpkg-deb", "--root-owner-group", "-Znone", "--build", str(root), str(target))
    return target


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def _record(folder: Path, deb: Path) -> str:
    """Return the package's record for the index: its control file, path and checksum."""
    content = deb.read_bytes()
    return (
        _run("dpkg-deb", "--field", str(deb))
        + f"Filename: {deb.relative_to(folder)}\nSize: {len(content)}\nSHA256: {hashlib.sha256(content).hexdigest()}\n"
    )


def _release(lists: Path, suite: str) -> str:
    files = sorted(path for path in lists.rglob("Packages*"))
    lines = "".join(
        f" {hashlib.sha256(path.read_bytes()).hexdigest()} {path.stat().st_size} {path.relative_to(lists)}\n"
        for path in files
    )
    return (
        f"Origin: drill\nSuite: {suite}\nCodename: {suite}\nArchitectures: amd64\nComponents: main\n"
        f"Date: {formatdate(usegmt=True)}\nSHA256:\n{lines}"
    )


def _sign(lists: Path, keyring: Path) -> None:
    """Sign the release as apt requires. The private key is deleted."""
    with tempfile.TemporaryDirectory(
        prefix="gpg-"
    ) as home:  # It contains the socket of gpg-agent, whose path must be short.
        gpg = ("gpg", "--homedir", home, "--batch", "--yes", "--quiet", "--pinentry-mode", "loopback")
        try:
            _run(*gpg, "--passphrase", "", "--quick-generate-key", "drill <drill@example.com>", "ed25519", "sign")
            _run(*gpg, "--export", "--output", str(keyring))
            _run(*gpg, "--clearsign", "--output", str(lists / "InRelease"), str(lists / "Release"))
            _run(*gpg, "--detach-sign", "--armor", "--output", str(lists / "Release.gpg"), str(lists / "Release"))
        finally:
            subprocess.run(("gpgconf", "--homedir", home, "--kill", "gpg-agent"), check=False, capture_output=True)


def _run(*command: str) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"`{' '.join(command)}` ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout
