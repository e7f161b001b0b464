"""Packages with the real apt and dpkg: only pinned files; after a kill, with locks, and partly installed."""

import subprocess
from pathlib import Path

import pytest

from llm_fleet_local.drill.stand_ins.apt_repository import AptRepository, StubPackage
from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.manifest_parts import Downloads
from llm_fleet_node.node import Node
from llm_fleet_node.package_managers import apt as apt_module
from llm_fleet_node.packages import held, install, installed_version, is_installed
from tests.apt_programs import needs_apt
from tests.lifecycle_scripts.convergence import assert_fails
from tests.lifecycle_scripts.packages.apt_root import (
    MIRROR,
    fill_mirror,
    lay_out,
    pin,
    repository,
    requested,
    stored,
)
from tests.lifecycle_scripts.step_node import file, make, program, said
from tests.pains.reported import reported

pytestmark = needs_apt

LIBRARY = StubPackage("libthing1", "1.5-2", files={"/opt/libthing": "1.5\n"})
TOOL = StubPackage("tool", "2:3.0-1", depends="libthing1 (>= 1.5)", files={"/opt/tool": "3.0\n"})
OLD_TOOL = StubPackage("tool", "2:2.0-1", depends="libthing1", files={"/opt/tool": "2.0\n"})
OTHER = StubPackage("other", "1.0")
ALL = (LIBRARY, TOOL, OTHER)


@pytest.fixture(scope="module")
def debs(tmp_path_factory: pytest.TempPathFactory) -> AptRepository:
    return repository(tmp_path_factory.mktemp("debs"), *ALL, OLD_TOOL, StubPackage("libthing1", "1.0-1"))


@pytest.fixture
def root(tmp_path: Path, debs: AptRepository) -> Path:
    lay_out(tmp_path)
    fill_mirror(tmp_path, debs, pin(debs, [*ALL, OLD_TOOL, StubPackage("libthing1", "1.0-1")]))
    return tmp_path


@pytest.fixture
def node(root: Path, debs: AptRepository) -> Node:
    return make(root, downloads=pin(debs, ALL))


def test_a_missing_package_is_installed_with_only_its_dependencies(root: Path, node: Node) -> None:
    assert not is_installed(node.host, "tool")
    install(node, ["tool"])
    assert installed_version(node.host, "tool") == "2:3.0-1"
    assert installed_version(node.host, "libthing1") == "1.5-2"
    assert not is_installed(node.host, "other")
    assert (root / "opt/tool").read_text() == "3.0\n"
    assert sorted(requested(root)) == ["libthing1_1.5-2_amd64.deb", "tool_3.0-1_amd64.deb"]


def test_a_second_run_requests_and_changes_nothing(root: Path, node: Node, debs: AptRepository) -> None:
    install(node, ["tool"], hold=True)
    before = requested(root)
    again = make(root, downloads=pin(debs, ALL))
    install(again, ["tool"], hold=True)
    assert again.host.changes == []
    assert requested(root) == before


def test_a_held_package_stays_installed_and_held(node: Node) -> None:
    install(node, ["tool", "other"], hold=True)
    assert held(node.host) == {"tool", "other"}
    assert is_installed(node.host, "tool")


def test_an_installed_dependency_is_not_downloaded(root: Path, node: Node) -> None:
    install(node, ["libthing1"])
    install(node, ["tool"])
    assert requested(root) == ["libthing1_1.5-2_amd64.deb", "tool_3.0-1_amd64.deb"]


def test_an_outdated_dependency_is_updated(root: Path, debs: AptRepository) -> None:
    install(make(root, downloads=pin(debs, [StubPackage("libthing1", "1.0-1")])), ["libthing1"])
    node = make(root, downloads=pin(debs, ALL))
    install(node, ["tool"])
    assert installed_version(node.host, "libthing1") == "1.5-2"
    assert "also updates libthing1: " in said(node)


def test_a_named_version_replaces_a_newer_one_that_is_held(root: Path, node: Node, debs: AptRepository) -> None:
    install(node, ["tool"], hold=True)
    older = make(root, downloads=pin(debs, [*ALL, OLD_TOOL]))
    install(older, ["tool=2.0-1"], hold=True)
    assert installed_version(older.host, "tool") == "2:2.0-1"
    assert (root / "opt/tool").read_text() == "2.0\n"
    assert held(older.host) == {"tool"}


def test_without_downloads_the_missing_packages_are_reported(root: Path, debs: AptRepository) -> None:
    downloads = Downloads(source="none", mirror_s3_uri=None, files=pin(debs, ALL).files)
    for listed in (downloads, Downloads("none", None, ())):
        failure = assert_fails(Code.PACKAGE_MISSING, install, make(root, downloads=listed), ["tool"], match="tool")
        assert failure.final
        assert "llm-fleet mirror" in failure.code.remedy
    assert requested(root) == []


def test_a_package_that_is_not_pinned_is_reported(root: Path, node: Node) -> None:
    assert_fails(Code.NOT_PINNED, install, node, ["nothing=9"], match="nothing 9 is not pinned for debian-13-amd64")


def test_a_package_pinned_for_another_system_is_reported(root: Path, node: Node) -> None:
    file(root, "/etc/os-release", 'ID=ubuntu\nVERSION_ID="22.04"\n')
    failure = assert_fails(Code.NOT_PINNED, install, node, ["tool"])
    assert failure.cause == "tool is not pinned for ubuntu-22.04-amd64; pinned are 2:3.0-1 for debian-13-amd64"


def test_a_dependency_that_the_lock_lacks_is_reported(root: Path, debs: AptRepository) -> None:
    downloads = pin(debs, [StubPackage("tool", "2:3.0-1")])  # It has no dependencies in the lock file.
    assert_fails(Code.PACKAGES_BROKEN, install, make(root, downloads=downloads), ["tool"], match="libthing1")
    assert not is_installed(make(root).host, "tool")


def test_repositories_are_not_queried(root: Path, node: Node) -> None:
    """A repository that has the dependency is not read."""
    file(root, "/etc/apt/sources.list", "deb [trusted=yes] http://127.0.0.1:9/ stable main\n")
    file(root, "/etc/apt/sources.list.d/x.list", "deb http://127.0.0.1:9/ stable main\n")
    install(node, ["tool"])
    assert is_installed(node.host, "tool")


@pytest.mark.parametrize("cut", ["unpack", "half", "status"])
def test_a_killed_installation_is_completed_by_the_next_run(root: Path, debs: AptRepository, cut: str) -> None:
    """dpkg is killed after unpacking, during a package, or before its journal is merged into the status file."""
    downloads = pin(debs, ALL)
    pool = debs.folder / "pool"
    host = make(root).host
    host.run("dpkg", "--unpack", str(pool / LIBRARY.file_name), str(pool / TOOL.file_name))
    status = root / "var/lib/dpkg/status"
    if cut == "half":
        unpacked, half = "tool\nStatus: install ok unpacked", "tool\nStatus: install reinstreq half-installed"
        text = status.read_text().replace(unpacked, half)
        assert "half-installed" in text
        status.write_text(text)
    if cut == "status":
        (root / "var/lib/dpkg/updates/0000").write_text(status.read_text().split("\n\n")[0] + "\n")
    assert not is_installed(host, "tool")
    node = make(root, downloads=downloads)
    install(node, ["tool"])
    assert installed_version(node.host, "tool") == "2:3.0-1"
    assert installed_version(node.host, "libthing1") == "1.5-2"
    assert "configured packages whose installation was interrupted" in node.host.changes
    again = make(root, downloads=downloads)
    install(again, ["tool"])
    assert again.host.changes == []


HOLD = """
import fcntl, time
files = [open(root + '/var/lib/dpkg/' + name, 'w') for name in ('lock-frontend', 'lock')]
for each in files: fcntl.lockf(each, fcntl.LOCK_EX)
print('held', flush=True)
sys.stdin.read()
"""


def test_another_package_installation_is_waited_for_and_reported(
    root: Path, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apt_module, "LOCK_SECONDS", 1)
    holder = program(root, "holder", HOLD)
    with subprocess.Popen([holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        failure = assert_fails(Code.PACKAGES_LOCKED, install, node, ["tool"], match="after 1 s")
        reported(1, failure, "find the program that installs packages at boot (unattended-upgrades, another script)")
        host = make(root).host
        other.communicate("")
    host.run("dpkg", "--unpack", str(next((root / "var/cache/llm-fleet/downloads").rglob("libthing1*.deb"))))
    with subprocess.Popen([holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        assert_fails(Code.PACKAGES_LOCKED, install, node, ["tool"])
        other.communicate("")
    install(node, ["tool"])
    assert is_installed(node.host, "tool")


def test_a_package_whose_script_fails_is_reported(root: Path, tmp_path: Path) -> None:
    broken = StubPackage("broken", "1.0", scripts={"preinst": "#!/bin/sh\nexit 1\n"})
    debs = repository(tmp_path / "more", broken)
    downloads = pin(debs, [broken])
    fill_mirror(root, debs, downloads)
    assert_fails(Code.PACKAGES_BROKEN, install, make(root, downloads=downloads), ["broken"], match="broken")


def test_no_package_is_ever_removed_for_another(root: Path, tmp_path: Path, node: Node) -> None:
    install(node, ["other"])
    rival = StubPackage("rival", "1.0", conflicts="other")
    debs = repository(tmp_path / "more", rival)
    downloads = pin(debs, [rival])
    fill_mirror(root, debs, downloads)
    assert_fails(Code.PACKAGES_BROKEN, install, make(root, downloads=downloads), ["rival"], match="remove")
    assert is_installed(node.host, "other")


def test_a_changed_file_is_never_passed_to_apt(root: Path, node: Node) -> None:
    changed = stored(root, node.manifest.downloads.files[1])
    changed.write_bytes(changed.read_bytes()[:-1] + b"!")
    with pytest.raises(Failure, match=r"s3://mirror/our/debs/[0-9a-f]{64}/tool_3.0-1_amd64.deb has") as failure:
        install(node, ["tool"])
    assert failure.value.code is Code.DOWNLOAD_CHECKSUM
    assert not is_installed(node.host, "tool")
    assert not list((root / "var/cache").rglob("tool*.deb"))


def test_a_host_without_any_package_manager_is_reported(tmp_path: Path) -> None:
    assert_fails(
        Code.PACKAGES_BROKEN, is_installed, make(tmp_path).host, "tool", match="neither a dpkg nor an rpm database"
    )


def test_the_mirror_of_the_manifest_is_used(root: Path, node: Node) -> None:
    install(node, ["other"])
    pinned = node.manifest.downloads.files[2]
    assert (root / "requests").read_text() == f"{MIRROR}/{pinned.sha256}/other_1.0_amd64.deb\n"
