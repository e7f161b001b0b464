"""The AMI under an inference service, and the driver that hosts end up with."""

import re

from llm_fleet.catalog.neuron import ami_for, ami_releases
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.protocols import HostsLike
from llm_fleet.rules.inference.terms import Capacity
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.tokens import is_unresolved

_AMI_ID = re.compile(r"ami-([0-9a-f]{8}|[0-9a-f]{17})")
_RELEASE = re.compile(r"20\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")


def is_ami_id(ami: str) -> bool:
    """Return whether `ami` is the id of an AMI, and no release; a token is taken for an id."""
    return is_unresolved(ami) or _AMI_ID.fullmatch(ami) is not None


def check_ami(hosts: HostsLike) -> list[Problem]:
    """Check that `ami` is a release or an id, and that nothing of the host's is told where AWS chooses it."""
    if hosts.capacity == Capacity.MANAGED_INSTANCES:
        return _check_managed(hosts)
    ami = hosts.ami
    if ami is None or is_ami_id(ami) or _RELEASE.fullmatch(ami):
        return []
    newest = max(ami_releases())
    return [
        Problem(
            code=Code.HOST_AMI,
            message="this is neither a release of the ECS-optimized Neuron AMI nor the id of an AMI",
            remedy=f"write the date of a release, e.g. {newest!r}, or an id as 'ami-0123456789abcdef0'; "
            "left out, it is the release that is believed to carry the pinned driver",
            path=("ami",),
            value=ami,
        )
    ]


def check_driver_source(
    hosts: HostsLike, driver_version: str, *, internet: InternetAccess | None = None
) -> list[Problem]:
    """Check that hosts can have `driver_version`: from their AMI, or installed at boot from Neuron's repository.

    `internet` is the network's; `None` where nobody told. What an AMI of one's own carries only the host can tell.
    """
    if hosts.capacity == Capacity.MANAGED_INSTANCES or is_unresolved((driver_version, hosts.ami or "")):
        return []
    release = hosts.ami or ami_for(driver_version)
    carried = ami_releases().get(release)
    if is_ami_id(release) or carried is None or carried == driver_version:
        return []
    if not hosts.install_driver:
        return [_other_driver(hosts, release, carried, driver_version)]
    if internet == InternetAccess.NONE:
        return [_unreachable(hosts, release, carried, driver_version)]
    return []


def _check_managed(hosts: HostsLike) -> list[Problem]:
    return [
        Problem(
            code=Code.HOST_MANAGED_PIN,
            message=f"AWS chooses image and driver of Managed Instances: nobody can tell their {name}",
            remedy=f"leave {name} out, or take hosts of capacity 'ec2', whose driver is pinned",
            path=(name,),
            value=getattr(hosts, name),
        )
        for name in ("ami", "driver_version", "install_driver")
        if getattr(hosts, name)
    ]


def _other_driver(hosts: HostsLike, release: str, carried: str, driver: str) -> Problem:
    fitting = ami_for(driver)
    found = ami_releases()[fitting] == driver
    return Problem(
        code=Code.HOST_AMI_DRIVER,
        message=f"release {release} of the AMI is believed to carry the Neuron driver {carried}, the service's hosts "
        f"are pinned to {driver}, and they may install none",
        remedy=(f"take the release {fitting!r}, which is believed to carry it, or " if found else "")
        + "let hosts install the driver at boot (install_driver)",
        path=("ami",) if hosts.ami else ("install_driver",),
        value=hosts.ami or hosts.install_driver,
    )


def _unreachable(hosts: HostsLike, release: str, carried: str, driver: str) -> Problem:
    fitting = ami_for(driver)
    found = ami_releases()[fitting] == driver
    return Problem(
        code=Code.HOST_DRIVER_UNREACHABLE,
        message=f"release {release} of the AMI is believed to carry the Neuron driver {carried}; {driver} would be "
        "installed at boot from yum.repos.neuron.amazonaws.com, and the network has no way to the internet",
        remedy=(f"take the release {fitting!r}, which is believed to carry it, or " if found else "")
        + f"an AMI of your own with {driver}, or a network with a NAT gateway",
        path=("ami",) if hosts.ami else ("driver_version",),
        value=hosts.ami or driver,
    )
