"""The real apt and dpkg, which read and install only below a folder."""

from __future__ import annotations

import hashlib
import shlex
import shutil
from collections.abc import Iterable
from pathlib import Path

from llm_fleet_local.drill.stand_ins.apt_repository import AptRepository, StubPackage, build
from llm_fleet_node.manifest_parts import Download, Downloads
from tests.lifecycle_scripts.step_node import file, program

MIRROR = "s3://mirror/our/debs"
_AWS = """
options = ['--only-show-errors', '--region', 'us-west-2', '--cli-connect-timeout', '10', '--cli-read-timeout', '60']
assert a[:2] == ['s3', 'cp'] and a[4:] == options, a
assert os.environ['AWS_MAX_ATTEMPTS'] == '3'
with open(root + '/requests', 'a') as requests: print(a[2], file=requests)
if os.path.exists(root + '/says'): sys.exit(open(root + '/says').read())
stored = root + '/s3/' + a[2][len('s3://'):]
if not os.path.exists(stored):
    sys.exit('fatal error: An error occurred (404) when calling the HeadObject operation: Key "x" does not exist')
with open(stored, 'rb') as source, open(a[3], 'wb') as target: target.write(source.read())
"""


def lay_out(root: Path) -> None:
    """Make `root` a Debian 13 node without packages, but with apt, dpkg and the AWS CLI."""
    for folder in ("var/lib/dpkg/updates", "var/lib/dpkg/info", "var/lib/apt/lists/partial", "var/log/apt", "etc/apt"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for folder in ("apt.conf.d", "preferences.d", "sources.list.d"):
        (root / "etc/apt" / folder).mkdir()
    file(root, "/var/lib/dpkg/status", "")
    file(root, "/etc/os-release", 'ID=debian\nVERSION_ID="13"\n')
    settings = f"""
-o Dir={root} -o Dir::State::status={root}/var/lib/dpkg/status -o Dir::Bin::Dpkg=/usr/bin/dpkg
-o Dir::Bin::methods=/usr/lib/apt/methods -o DPkg::Options::=--root={root} -o DPkg::Options::=--log={root}/dpkg.log
-o DPkg::Options::=--force-not-root -o APT::Sandbox::User=root
""".split()
    for name, options in (
        ("apt-get", settings),
        ("dpkg", [f"--root={root}", f"--log={root}/dpkg.log", "--force-not-root"]),
    ):
        words = shlex.join([f"/usr/bin/{name}", *options])
        file(root, f"/usr/bin/{name}", f'#!/bin/sh\nexport PATH=/usr/sbin:/usr/bin:/sbin:/bin\nexec {words} "$@"\n')
        (root / f"usr/bin/{name}").chmod(0o755)
    program(root, "aws", _AWS)


def repository(place: Path, *packages: StubPackage) -> AptRepository:
    """A signed repository of `packages`."""
    return build(place / "repository", packages)


def pin(repository: AptRepository, packages: Iterable[StubPackage], *, source: str = "mirror") -> Downloads:
    """Pin `packages` as `llm-fleet mirror lock` does, with their dependencies by name."""
    files: list[Download] = []
    known = list(packages)
    for package in known:
        content = (repository.folder / "pool" / package.file_name).read_bytes()
        requires = tuple(piece.split()[0] for piece in package.depends.split(", ") if piece)
        files.append(
            Download(
                name=package.name,
                version=package.version,
                kind="deb",
                system="debian-13-amd64",
                url=f"https://vendor.example/pool/{package.file_name}",
                sha256=hashlib.sha256(content).hexdigest(),
                size=len(content),
                requires=requires,
            )
        )
    return Downloads(source=source, mirror_s3_uri=MIRROR, files=tuple(files))


def fill_mirror(root: Path, repository: AptRepository, downloads: Downloads) -> None:
    """Put the pinned files into the mirror that the node's AWS CLI reads."""
    for pinned in downloads.files:
        name = pinned.url.rsplit("/", 1)[-1]
        place = stored(root, pinned)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(repository.folder / "pool" / name, place)


def stored(root: Path, pinned: Download) -> Path:
    """The path of the file in the mirror."""
    return root / "s3/mirror/our/debs" / pinned.sha256 / pinned.url.rsplit("/", 1)[-1]


def requested(root: Path) -> list[str]:
    """The files that the AWS CLI requested, by name."""
    place = root / "requests"
    return [line.rsplit("/", 1)[-1] for line in place.read_text().splitlines()] if place.exists() else []
