"""Compatible Neuron driver, runtime, collectives and tools on the host, from the image or the release."""

from __future__ import annotations

import os
import re
from typing import Optional

from llm_fleet_node.devices.expectation import why_none
from llm_fleet_node.downloads import is_version
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed
from llm_fleet_node.manifest_parts import Neuron, Package
from llm_fleet_node.neuron.compatibility import conflicts, packages_next_to
from llm_fleet_node.neuron.driver import DRIVER, driver_version, is_loaded
from llm_fleet_node.node import Node
from llm_fleet_node.packages import held, install, installed_versions, is_installed, repair
from llm_fleet_node.step import EVERY_ROLE, Step

_FIRST_OF_AL2023 = (6, 1)
"""The kernel whose package name has no version."""


def _apply(node: Node) -> None:
    """Install the release's packages if the fleet configures that; a driver of the image is never changed."""
    neuron = _wanted(node)
    if neuron.host == "install":
        repair(node.host)  # A partly installed driver can look like the image's own.
        driver = driver_version(node.host)
        names = [f"{package.name}={package.version}" for package in _packages(neuron, driver)]
        own = [DRIVER] if is_installed(node.host, DRIVER) else []
        install(node, [*(_headers(node) if driver is None else own), *names], hold=True)
    if not is_loaded(node.host) and driver_version(node.host):
        try:
            node.host.run("modprobe", "neuron", changes="loaded the Neuron driver")
        except CommandFailed as error:
            fail(Code.NEURON_DRIVER, error.cause)


def _verify(node: Node) -> None:
    """Verify that the driver is loaded, and that the packages are installed and compatible."""
    host, neuron = node.host, _wanted(node)
    driver = driver_version(host)
    if driver is None or not is_loaded(host):
        fail(Code.NEURON_DRIVER, f"the Neuron driver {driver or '(none)'} is not loaded on kernel {os.uname().release}")
    names = [package.name for package in neuron.packages if package.name != DRIVER]
    found = installed_versions(host, names)
    missing = [name for name in names if name not in found]
    if missing:
        fail(Code.NEURON_PACKAGES, f"Neuron {neuron.release} is configured, but the node has no {', '.join(missing)}")
    problems = conflicts({DRIVER: driver, **found}, neuron.compatibility)
    if problems:
        fail(Code.NEURON_MISMATCH, "; ".join(problems), final=neuron.host == "verify")
    if neuron.host == "install":
        _verify_installed(node, neuron, driver, found)
    versions = ", ".join(f"{name} {version}" for name, version in sorted({DRIVER: driver, **found}.items()))
    node.say(f"Neuron {neuron.release} is configured; the node has {versions}, which are compatible")


def _skip(node: Node) -> Optional[str]:
    """Skipped without Neuron devices, or if the fleet sets no release."""
    return why_none(node, "neuron") or (None if node.manifest.neuron else "the fleet sets no Neuron release")


def _verify_installed(node: Node, neuron: Neuron, driver: str, found: dict[str, str]) -> None:
    """Verify that the pinned versions are installed, and excluded from upgrades."""
    packages = [package for package in _packages(neuron, driver) if package.name != DRIVER]
    wrong = [
        f"{package.name} is {found[package.name]}, but {package.version} is pinned"
        for package in packages
        if not is_version(found[package.name], package.version)
    ]
    own = [DRIVER] if is_installed(node.host, DRIVER) else []
    kept = held(node.host)
    loose = [name for name in (*own, *(package.name for package in packages)) if name not in kept]
    if wrong or loose:
        fail(Code.NEURON_PACKAGES, "; ".join([*wrong, *(f"{name} is not held" for name in loose)]))


def _packages(neuron: Neuron, driver: Optional[str]) -> tuple[Package, ...]:
    """Return the packages to install: the whole release, or those compatible with the image's driver."""
    if driver is None:
        return neuron.packages
    next_to = packages_next_to(neuron, driver)
    if next_to is None:
        fail(Code.NEURON_MISMATCH, f"no runtime of Neuron {neuron.release} supports driver {driver}", final=True)
    return next_to


def _headers(node: Node) -> list[str]:
    """Return the kernel headers package for building the driver, if the image lacks it."""
    kernel = os.uname().release
    if node.host.path(f"/lib/modules/{kernel}/build").exists():
        return []
    if node.host.path("/var/lib/dpkg/status").is_file():
        return [f"linux-headers-{kernel}"]
    return [f"{_kernel_package(node, kernel)}-devel={kernel.rsplit('.', 1)[0]}"]


def _kernel_package(node: Node, kernel: str) -> str:
    """Return the package of the running kernel: `kernel`, on Amazon Linux 2023 also e.g. `kernel6.12`.

    assumption: al2023-kernel-packages
    """
    try:
        owners = node.host.run("rpm", "-qf", "--qf", "%{NAME}\\n", f"/lib/modules/{kernel}/vmlinuz").split()
        return owners[0].partition("-")[0]  # RHEL has it in `kernel-core`
    except (CommandFailed, IndexError):
        numbers = re.match(r"(\d+)\.(\d+)", kernel)
        newer = numbers is not None and (int(numbers[1]), int(numbers[2])) > _FIRST_OF_AL2023 and "amzn2023" in kernel
        return f"kernel{numbers[0]}" if numbers and newer else "kernel"


def _wanted(node: Node) -> Neuron:
    if node.manifest.neuron is None:  # Not reached, because of `skip`.
        fail(Code.UNEXPECTED_ERROR, "the manifest sets no Neuron release", final=True)
    return node.manifest.neuron


STEP = Step(
    name="neuron_host",
    summary="the Neuron driver is loaded, and runtime, collectives and tools are compatible",
    roles=EVERY_ROLE,
    apply=_apply,
    verify=_verify,
    skip=_skip,
    timeout=1500,
    retries=2,
)
