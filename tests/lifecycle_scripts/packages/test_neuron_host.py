"""The step neuron_host with the real apt: the image's driver is kept, and a compatible runtime is chosen."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from llm_fleet.catalog.neuron import (
    alternative_packages,
    alternative_releases,
    compatibility,
    host_packages,
    neuron_release,
)
from llm_fleet_local.drill.stand_ins.apt_repository import AptRepository, StubPackage, neuron_packages
from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.host import Host
from llm_fleet_node.manifest_parts import Downloads, Neuron, NeuronAlternative, Package, PackageEdge
from llm_fleet_node.node import Node
from llm_fleet_node.packages import held, installed_versions
from llm_fleet_node.steps.neuron_host import STEP
from llm_fleet_node.steps.neuron_host import _headers as headers  # pyright: ignore[reportPrivateUsage]
from tests.apt_programs import needs_apt
from tests.lifecycle_scripts.convergence import assert_fails
from tests.lifecycle_scripts.packages.apt_root import fill_mirror, lay_out, pin, repository, requested
from tests.lifecycle_scripts.step_node import M5, TRN1, file, make, program, said

pytestmark = needs_apt
RUNTIME = "aws-neuronx-runtime-lib"
DRIVER = """
status = open(root + '/var/lib/dpkg/status').read()
if 'Package: aws-neuronx-dkms' not in status: sys.exit('modinfo: ERROR: Module neuron not found.')
version = status.split('Package: aws-neuronx-dkms')[1].split('Version: ')[1].split()[0]
"""
MODINFO = f"{DRIVER}assert a == ['--field', 'version', 'neuron'], a\nprint(version)"
MODPROBE = f"""{DRIVER}
assert a == ['neuron'], a
os.makedirs(root + '/sys/module/neuron')
open(root + '/sys/module/neuron/version', 'w').write(version)
"""


def neuron(release: str, host: str) -> Neuron:
    """A release as in the manifest."""
    wanted = neuron_release(release)
    return Neuron(
        release=release,
        host=host,
        packages=tuple(Package(each.name, each.version) for each in host_packages(wanted)),
        compatibility=tuple(
            PackageEdge(edge.package, edge.from_version, edge.other, edge.at_least) for edge in compatibility()
        ),
        alternatives=tuple(
            NeuronAlternative(
                other.name, tuple(Package(each.name, each.version) for each in alternative_packages(other))
            )
            for other in alternative_releases(wanted)
        ),
    )


@pytest.fixture(scope="module")
def debs(tmp_path_factory: pytest.TempPathFactory) -> AptRepository:
    return repository(tmp_path_factory.mktemp("debs"), *NEURON, HEADERS)


def _headers() -> StubPackage:
    return StubPackage(f"linux-headers-{os.uname().release}", "1.0")


HEADERS = _headers()
NEURON = neuron_packages("2.27.1", "2.28.1", "2.30.0", "2.31.1", "2.33.0")


@pytest.fixture
def downloads(debs: AptRepository) -> Downloads:
    return pin(debs, [*NEURON, HEADERS])


@pytest.fixture
def root(tmp_path: Path, debs: AptRepository, downloads: Downloads) -> Path:
    lay_out(tmp_path)
    fill_mirror(tmp_path, debs, downloads)
    program(tmp_path, "modprobe", MODPROBE)
    program(tmp_path, "modinfo", MODINFO)
    return tmp_path


def image(root: Path, debs: AptRepository, driver: str | None, release: str = "", *names: str) -> None:
    """An image with this driver, running, and the packages `names` of `release`."""
    if driver:
        file(root, "/sys/module/neuron/version", driver + "\n")
    for package in NEURON:
        if package.name in names and package.version.split("-")[0] == neuron_release(release).host[package.name]:
            make(root).host.run("dpkg", "-i", str(debs.folder / "pool" / package.file_name))


PACKAGES = (RUNTIME, "aws-neuronx-collectives", "aws-neuronx-tools")


def run(root: Path, **given: Any) -> Node:
    node = make(root, TRN1, **given)
    assert STEP.skip(node) is None
    STEP.apply(node)
    STEP.verify(node)
    return node


def versions(root: Path) -> dict[str, str]:
    found = installed_versions(make(root).host, [package.name for package in NEURON])
    return {name: version.split("-")[0] for name, version in found.items()}


def test_a_node_without_packages_gets_the_whole_release_held(root: Path, downloads: Downloads) -> None:
    node = run(root, neuron=neuron("2.28.1", "install"), downloads=downloads)
    assert versions(root) == dict(neuron_release("2.28.1").host)
    assert held(node.host) == {*neuron_release("2.28.1").host, HEADERS.name}
    assert "loaded the Neuron driver" in node.host.changes
    again = run(root, neuron=neuron("2.28.1", "install"), downloads=downloads)
    assert again.host.changes == []


def test_headers_of_the_image_are_not_downloaded(root: Path, downloads: Downloads) -> None:
    (root / "lib/modules" / os.uname().release / "build").mkdir(parents=True)
    run(root, neuron=neuron("2.28.1", "install"), downloads=downloads)
    assert not any("headers" in name for name in requested(root))


@pytest.mark.parametrize(
    ("kernel", "owner", "package"),
    [
        ("6.1.141-155.222.amzn2023.x86_64", "kernel", "kernel-devel=6.1.141-155.222.amzn2023"),
        ("6.12.37-61.105.amzn2023.x86_64", "kernel6.12", "kernel6.12-devel=6.12.37-61.105.amzn2023"),
        ("6.12.37-61.105.amzn2023.x86_64", "", "kernel6.12-devel=6.12.37-61.105.amzn2023"),
        ("6.1.141-155.222.amzn2023.x86_64", "", "kernel-devel=6.1.141-155.222.amzn2023"),
        ("5.14.0-503.el9.x86_64", "kernel-core", "kernel-devel=5.14.0-503.el9"),
    ],
)
def test_headers_match_the_package_of_the_running_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: str, owner: str, package: str
) -> None:
    """Source: assumption al2023-kernel-packages."""
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(release=kernel))
    path = f"/lib/modules/{kernel}/vmlinuz"
    reported = f"print({owner!r})" if owner else "sys.exit('error: file is not owned by any package')"
    program(tmp_path, "rpm", f"assert a == ['-qf', '--qf', '%{{NAME}}\\\\n', {path!r}], a\n{reported}")
    assert headers(make(tmp_path, TRN1)) == [package]


def test_the_images_driver_is_kept_and_the_release_is_installed(
    root: Path, debs: AptRepository, downloads: Downloads
) -> None:
    image(root, debs, "2.27.4.0")
    run(root, neuron=neuron("2.28.1", "install"), downloads=downloads)
    expected = dict(neuron_release("2.28.1").host)
    del expected["aws-neuronx-dkms"]
    assert versions(root) == expected


def test_with_a_newer_driver_a_newer_runtime_is_installed(
    root: Path, debs: AptRepository, downloads: Downloads
) -> None:
    image(root, debs, "2.29.0.0")
    node = run(root, neuron=neuron("2.28.1", "install"), downloads=downloads)
    assert versions(root) == {
        package.name: package.version for package in alternative_packages(neuron_release("2.31.1"))
    }
    assert "which are compatible" in said(node)


def test_a_release_too_new_for_the_images_driver_is_reported_and_nothing_changes(
    root: Path, debs: AptRepository, downloads: Downloads
) -> None:
    image(root, debs, "2.25.4.0")
    node = make(root, TRN1, neuron=neuron("2.33.0", "install"), downloads=downloads)
    assert_fails(
        Code.NEURON_MISMATCH,
        STEP.apply,
        node,
        match=r"no runtime of Neuron 2\.33\.0 supports driver 2\.25\.4\.0",
    )
    assert versions(root) == {}


def test_with_host_verify_nothing_is_installed(root: Path, debs: AptRepository) -> None:
    image(root, debs, "2.25.4.0", "2.27.1", *PACKAGES)
    node = run(root, neuron=neuron("2.28.1", "verify"))
    assert node.host.changes == []
    assert "Neuron 2.28.1 is configured; the node has aws-neuronx-collectives 2.29.41.0" in said(node)


@pytest.mark.parametrize(
    ("driver", "release", "reported"),
    [
        (
            "2.29.0.0",
            "2.28.1",
            "aws-neuronx-dkms 2.29.0.0 requires aws-neuronx-runtime-lib 2.33 or newer, but this node has 2.30.51.0",
        ),
        (
            "2.26.10.0",
            "2.30.0",
            "aws-neuronx-runtime-lib 2.32.31.0-.* requires aws-neuronx-dkms 2.27 or newer, but this node has 2.26",
        ),
    ],
)
def test_incompatible_driver_and_runtime_are_reported(
    root: Path, debs: AptRepository, driver: str, release: str, reported: str
) -> None:
    image(root, debs, driver, release, *PACKAGES)
    assert_fails(Code.NEURON_MISMATCH, run, root, neuron=neuron(release, "verify"), match=reported)


def test_missing_packages_of_the_image_are_reported(root: Path, debs: AptRepository) -> None:
    image(root, debs, "2.26.10.0", "2.28.1", RUNTIME)
    with pytest.raises(
        Failure, match="is configured, but the node has no aws-neuronx-collectives, aws-neuronx-tools"
    ) as failure:
        run(root, neuron=neuron("2.28.1", "verify"))
    assert failure.value.code is Code.NEURON_PACKAGES


def test_a_node_without_driver_is_reported(root: Path) -> None:
    with pytest.raises(Failure, match=r"driver \(none\) is not loaded on kernel") as failure:
        run(root, neuron=neuron("2.28.1", "verify"))
    assert failure.value.code is Code.NEURON_DRIVER


def test_a_driver_that_the_kernel_rejects_is_reported(root: Path, downloads: Downloads) -> None:
    program(root, "modprobe", "sys.exit(\"modprobe: ERROR: could not insert 'neuron': Exec format error\")")
    program(root, "modinfo", "print('2.26.10.0')")
    with pytest.raises(Failure, match="Exec format error") as failure:
        run(root, neuron=neuron("2.28.1", "install"), downloads=downloads)
    assert failure.value.code is Code.NEURON_DRIVER


def test_an_upgraded_package_is_reported(root: Path, debs: AptRepository, downloads: Downloads) -> None:
    run(root, neuron=neuron("2.28.1", "install"), downloads=downloads)
    image(root, debs, None, "2.30.0", "aws-neuronx-tools")
    node = make(root, TRN1, neuron=neuron("2.28.1", "install"), downloads=downloads)
    assert_fails(
        Code.NEURON_PACKAGES,
        STEP.verify,
        node,
        match=r"aws-neuronx-tools is 2\.30\.10\.0-.*, but 2\.28\.23\.0 is pinned",
    )
    STEP.apply(node)
    STEP.verify(node)


def test_a_package_that_is_not_held_is_reported(root: Path, downloads: Downloads) -> None:
    node = run(root, neuron=neuron("2.28.1", "install"), downloads=downloads)
    node.host.run("dpkg", "--set-selections", input=f"{RUNTIME} install\n")
    with pytest.raises(Failure, match=f"{RUNTIME} is not held"):
        STEP.verify(node)


def test_a_release_that_is_not_pinned_is_reported(root: Path) -> None:
    assert_fails(
        Code.PACKAGE_MISSING, run, root, neuron=neuron("2.28.1", "install"), match="downloads are off in this fleet"
    )


def test_a_partly_installed_driver_is_not_taken_for_the_images_driver(
    root: Path, debs: AptRepository, downloads: Downloads
) -> None:
    driver = next(each for each in NEURON if each.version == "2.26.10.0")
    make(root).host.run("dpkg", "--unpack", str(debs.folder / "pool" / driver.file_name))
    node = run(root, neuron=neuron("2.28.1", "install"), downloads=downloads)
    assert versions(root) == dict(neuron_release("2.28.1").host)
    assert driver.name in held(node.host)


def test_it_converges_after_a_kill_at_each_effect(
    root: Path, downloads: Downloads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after each command that changes something, and run again each time."""

    class Killed(BaseException):
        pass

    real, kills = Host.run, list[str]()

    def dies(host: Host, *command: str, **given: Any) -> str:
        said = real(host, *command, **given)
        if given.get("changes") and command[0] not in kills:
            kills.append(command[0])
            raise Killed
        return said

    monkeypatch.setattr(Host, "run", dies)
    for _ in range(9):
        try:
            run(root, neuron=neuron("2.28.1", "install"), downloads=downloads)
        except Killed:
            continue
        break
    assert kills == ["apt-get", "dpkg", "modprobe"]
    assert versions(root) == dict(neuron_release("2.28.1").host)
    again = run(root, neuron=neuron("2.28.1", "install"), downloads=downloads)
    assert again.host.changes == []


def test_nodes_without_neuron_are_skipped(root: Path) -> None:
    assert STEP.skip(make(root, M5, neuron=neuron("2.28.1", "verify"))) == "ml.m5.xlarge has no neuron devices"
    assert STEP.skip(make(root, TRN1)) == "the fleet sets no Neuron release"
