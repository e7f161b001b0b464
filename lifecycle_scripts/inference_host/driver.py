"""The Neuron driver: the host is rejected unless the pinned version runs."""

from __future__ import annotations

import os
import re
from typing import Callable, Optional

from inference_host.failures import Code, fail
from inference_host.host import CommandFailed, Host, say
from inference_host.settings import Settings

_PACKAGE = "aws-neuronx-dkms"
_RUNNING = "/sys/module/neuron"
_REPOSITORY = "/etc/yum.repos.d/llm-fleet-neuron.repo"
_PLACE = "https://yum.repos.neuron.amazonaws.com"
_PCI_IDS = "/usr/sbin/update-pciids"
_FETCH_SECONDS = 120
_BUILD_SECONDS = 420
"""Seconds to build the driver for this kernel, which takes minutes on a small host."""
_LOAD_SECONDS = 60


def ensure_driver(host: Host, settings: Settings) -> dict[str, object]:
    """Make the pinned driver run; install it if that is allowed. Raises `Failure`."""
    pinned = settings.driver
    found, installed = packaged(host), False
    if found != pinned:
        if not settings.install_driver:
            fail(
                Code.DRIVER_MISMATCH,
                f"this host has the Neuron driver {found or '(none)'}, but its service pins {pinned}, and "
                "`install_driver` is off",
            )
        say(f"the AMI has the Neuron driver {found or '(none)'}; it is replaced with {pinned}")
        _install(host, pinned)
        installed = True
    if running(host) != pinned:
        _reload(host)
    if running(host) != pinned:
        fail(
            Code.DRIVER_LOAD,
            f"the Neuron driver {running(host) or '(none)'} runs instead of {pinned}, which "
            + ("was just installed" if installed else "is installed"),
        )
    return {"driver": pinned, "driver_of_ami": found, "driver_installed": installed}


def packaged(host: Host) -> Optional[str]:
    """Return the version that the kernel would load; `None` if there is none."""
    try:
        return _version(host.run("modinfo", "-F", "version", "neuron"))
    except CommandFailed:
        return None


def running(host: Host) -> Optional[str]:
    """Return the loaded version; `None` if none is loaded."""
    return _version(host.read(f"{_RUNNING}/version") or "")


def _version(text: str) -> Optional[str]:
    """Return the version numbers at the start of `text`, without the package release that can follow them."""
    found = re.match(r"\d+(\.\d+)*", text.strip())
    return found.group() if found else None


def _install(host: Host, version: str) -> None:
    """Replace the AMI's driver with `version`. Nothing else is installed from the repository, which is removed again.

    assumption: neuron-repository-key
    """
    host.write(
        _REPOSITORY,
        f"[llm-fleet-neuron]\nname=AWS Neuron\nbaseurl={_PLACE}\nenabled=1\ngpgcheck=1\n"
        f"gpgkey={_PLACE}/GPG-PUB-KEY-AMAZON-AWS-NEURON.PUB\nincludepkgs={_PACKAGE}\n",
    )
    dnf = ("dnf", "--assumeyes", "--quiet", "--setopt=install_weak_deps=False")
    try:
        _try(host, "dnf", "versionlock", "delete", _PACKAGE)
        kernel = os.uname().release
        if not host.path(f"/lib/modules/{kernel}/build").exists():
            host.run_often(*dnf, "install", f"kernel-devel-{kernel}", seconds=_FETCH_SECONDS)
        if running(host):
            host.run("modprobe", "--remove", "neuron", seconds=_LOAD_SECONDS)
        # Downloaded first: a host that cannot reach the repository keeps its driver, also after a reboot.
        host.run_often(*dnf, "install", "--downloadonly", f"{_PACKAGE}-{version}", seconds=_FETCH_SECONDS)
        if packaged(host):
            # As the AMI does for inf1: packages that were installed with the driver stay.
            host.run("rpm", "--erase", "--nodeps", _PACKAGE, seconds=_FETCH_SECONDS)
        _without_pci_ids(host, lambda: host.run(*dnf, "install", f"{_PACKAGE}-{version}", seconds=_BUILD_SECONDS))
    except CommandFailed as error:
        fail(Code.DRIVER_INSTALL, f"the Neuron driver {version} could not be installed: {error}")
    finally:
        host.path(_REPOSITORY).unlink()
    _try(host, "dnf", "versionlock", "add", _PACKAGE)


def _without_pci_ids(host: Host, install: Callable[[], object]) -> None:
    """Run `install` with an update-pciids that does nothing.

    The package runs it, and its download hangs behind an egress filter. assumption: neuron-dkms-updates-pci-ids
    """
    tool = host.path(_PCI_IDS)
    kept = tool.with_name("update-pciids.kept")
    if tool.exists() and not kept.exists():
        tool.replace(kept)
        tool.write_text("#!/bin/sh\n")
        tool.chmod(0o755)
    try:
        install()
    finally:
        if kept.exists():
            kept.replace(tool)


def _reload(host: Host) -> None:
    try:
        if running(host):
            host.run("modprobe", "--remove", "neuron", seconds=_LOAD_SECONDS)
        host.run("modprobe", "neuron", seconds=_LOAD_SECONDS)
    except CommandFailed as error:
        fail(Code.DRIVER_LOAD, f"the Neuron driver does not load: {error}")


def _try(host: Host, *command: str) -> None:
    """Run a command that only prevents later updates: a failure is harmless, as the repository is removed."""
    try:
        host.run(*command)
    except CommandFailed as error:
        say(str(error))
