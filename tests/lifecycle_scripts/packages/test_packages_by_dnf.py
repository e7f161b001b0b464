"""Packages with strict stand-ins of dnf and rpm, because this machine has neither."""

from pathlib import Path

import pytest

from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.manifest_parts import Download, Downloads
from llm_fleet_node.node import Node
from llm_fleet_node.package_managers import dnf as dnf_module
from llm_fleet_node.packages import held, install, installed_version
from tests.lifecycle_scripts.convergence import assert_fails
from tests.lifecycle_scripts.packages.apt_root import MIRROR, lay_out, stored
from tests.lifecycle_scripts.step_node import download, file, make, program

RPM = r"""
import glob
database = root + '/rpms'
if a[0] == '--eval':
    pair = a[1][len("%{lua:print(rpm.vercmp('"):-len("'))}")].split("', '")
    key = lambda v: [int(x) for x in v.replace('-', '.').split('.')]
    print(-1 if key(pair[0]) < key(pair[1]) else 1)
    sys.exit()
assert a[:3] == ['-q', '--qf', '%{NAME} %{VERSION}-%{RELEASE}\n'], a
missing = 0
for name in a[3:]:
    if os.path.exists(database + '/' + name): print(name, open(database + '/' + name).read())
    else:
        missing += 1
        print('package', name, 'is not installed')
sys.exit(missing)
"""
DNF = """
if os.path.exists(root + '/dnf-says'):
    print(open(root + '/dnf-says').read(), flush=True)
    import time
    time.sleep(9)
options = ['install', '--assumeyes', '--quiet', '--disablerepo=*', '--disableexcludes=all', '--nogpgcheck',
           '--setopt=install_weak_deps=False']
assert a[:len(options)] == options, a
names = {}
for path in a[len(options):]:
    assert path.startswith(root) and path.endswith('.rpm') and os.path.exists(path), path
    name, version = os.path.basename(path)[:-len('.rpm')].split('@')
    names[name] = version
if 'tool' in names and 'lib' not in names and open(root + '/rpms/lib').read() < '2.0-1':
    sys.exit('nothing provides lib >= 2.0 needed by tool')
os.makedirs(root + '/rpms', exist_ok=True)
for name, version in names.items(): open(root + '/rpms/' + name, 'w').write(version)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    lay_out(tmp_path)
    (tmp_path / "var/lib/dpkg/status").unlink()
    file(tmp_path, "/etc/os-release", 'ID="amzn"\nVERSION_ID="2023"\n')
    file(tmp_path, "/etc/dnf/dnf.conf", "[main]\ngpgcheck=True\n")
    program(tmp_path, "rpm", RPM)
    program(tmp_path, "dnf", DNF)
    return tmp_path


def rpm(root: Path, name: str, version: str, *requires: str) -> Download:
    content = f"{name} {version}".encode()
    url = f"https://vendor.example/{name}@{version}.rpm"
    pinned = download(name, content, url, version=version, kind="rpm", system="amzn-2023-x86_64", requires=requires)
    stored(root, pinned).parent.mkdir(parents=True, exist_ok=True)
    stored(root, pinned).write_bytes(content)
    return pinned


def node_of(root: Path, *files: Download) -> Node:
    return make(root, downloads=Downloads("mirror", MIRROR, files))


def test_a_missing_package_is_installed_with_its_dependencies(root: Path) -> None:
    node = node_of(root, rpm(root, "tool", "3.0-1", "lib"), rpm(root, "lib", "2.0-1"))
    install(node, ["tool=3.0"], hold=True)
    assert installed_version(node.host, "tool") == "3.0-1"
    assert installed_version(node.host, "lib") == "2.0-1"
    assert held(node.host) == {"tool"}
    assert (root / "etc/dnf/dnf.conf").read_text() == "[main]\nexcludepkgs=tool\ngpgcheck=True\n"


def test_a_second_run_changes_nothing(root: Path) -> None:
    files = (rpm(root, "lib", "2.0-1"),)
    install(node_of(root, *files), ["lib"], hold=True)
    again = node_of(root, *files)
    install(again, ["lib"], hold=True)
    assert again.host.changes == []


def test_held_packages_stay_held(root: Path) -> None:
    file(root, "/etc/dnf/dnf.conf", "[main]\nexcludepkgs=kernel*, docker\nbest=1\n")
    node = node_of(root, rpm(root, "lib", "2.0-1"))
    install(node, ["lib"], hold=True)
    assert (root / "etc/dnf/dnf.conf").read_text() == "[main]\nexcludepkgs=docker kernel* lib\nbest=1\n"


def test_an_outdated_dependency_is_updated(root: Path) -> None:
    file(root, "/rpms/lib", "1.0-1")
    node = node_of(root, rpm(root, "tool", "3.0-1", "lib"), rpm(root, "lib", "2.0-1"))
    install(node, ["tool"])
    assert installed_version(node.host, "lib") == "2.0-1"


def test_errors_of_dnf_are_reported(root: Path) -> None:
    file(root, "/rpms/lib", "1.0-1")
    node = node_of(root, rpm(root, "tool", "3.0-1"))
    assert_fails(Code.PACKAGES_BROKEN, install, node, ["tool"], match="nothing provides lib")


def test_another_dnf_that_does_not_end_is_reported(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dnf_module, "LOCK_SECONDS", 0.5)
    monkeypatch.setattr(dnf_module, "INSTALL_SECONDS", 0.5)
    file(root, "/dnf-says", "Waiting for process with pid 4711 to finish.")
    assert_fails(Code.PACKAGES_LOCKED, install, node_of(root, rpm(root, "lib", "2.0-1")), ["lib"], match="pid 4711")


def test_a_dnf_configuration_without_main_section_is_reported(root: Path) -> None:
    file(root, "/etc/dnf/dnf.conf", "")
    with pytest.raises(Failure, match=r"has no section \[main\]") as failure:
        install(node_of(root, rpm(root, "lib", "2.0-1")), ["lib"], hold=True)
    assert failure.value.code is Code.PACKAGES_BROKEN
