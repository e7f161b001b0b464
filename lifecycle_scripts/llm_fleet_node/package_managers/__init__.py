"""The package managers of nodes: apt with dpkg, or dnf with rpm, recognized by their database."""

from __future__ import annotations

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.package_managers.manager import PackageManager


def manager_of(host: Host) -> PackageManager:
    """Return the host's package manager. Raises `Failure` if it has neither."""
    if host.path("/var/lib/dpkg/status").is_file():
        from llm_fleet_node.package_managers.apt import Apt

        return Apt(host)
    if host.which("rpm"):
        from llm_fleet_node.package_managers.dnf import Dnf

        return Dnf(host)
    fail(Code.PACKAGES_BROKEN, "this node has neither a dpkg nor an rpm database", final=True)
