"""The hosts under an inference service: instance type, AMI and driver, and whether server and model can be on them."""

import re

from llm_fleet.catalog.ec2_instances import ec2_facts_of
from llm_fleet.catalog.model_server import model_servers
from llm_fleet.catalog.neuron import (
    ami_for,
    ami_releases,
    default_root_gib,
    host_facts,
    least_root_gib,
    neuron_instance,
    neuron_instance_names,
)
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.driver import check_version
from llm_fleet.rules.inference.fit import cache_gib
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import nearest
from llm_fleet.spec.model_server import ModelServer
from llm_fleet.spec.served_model import Model, ModelSource
from llm_fleet.spec.service import Capacity, Hosts


def check_hosts(hosts: Hosts) -> list[Problem]:
    """Check what hosts alone can tell. Paths are its attribute names."""
    return [
        *check_ami(hosts),
        *_check_driver_form(hosts),
        *_check_volume_is_sold(hosts),
    ]


def check_hosts_with(hosts: Hosts, *, server: ModelServer, model: Model) -> list[Problem]:
    """Check that image and model's cache fit on the root volume, and that the model can be reached there."""
    return [*_check_room(hosts, server, cache_gib(model) or 0), *_check_mount(hosts, model)]


def _check_driver_form(hosts: Hosts) -> list[Problem]:
    driver = hosts.driver_version
    if driver is None or is_unresolved(driver) or hosts.managed:
        return []
    return check_version(driver, "driver_version")


def _check_volume_is_sold(hosts: Hosts) -> list[Problem]:
    size, facts = hosts.root_volume_gib, host_facts()
    if size is None or is_unresolved(size) or facts.root_minimum_gib <= size <= facts.root_maximum_gib:
        return []
    below = size < facts.root_minimum_gib
    return [
        Problem(
            code=Code.HOST_ROOT_VOLUME,
            message="the root volume is smaller than the AMI's own" if below else "EBS sells no gp3 of this size",
            remedy="leave it out: it is then as large as image and cache need",
            path=("root_volume_gib",),
            value=size,
            allowed=f"{facts.root_minimum_gib} to {facts.root_maximum_gib} GiB",
        )
    ]


def _check_room(hosts: Hosts, server: ModelServer, kept_gib: int) -> list[Problem]:
    size = hosts.root_volume_gib
    if size is None or is_unresolved((size, kept_gib)) or _check_volume_is_sold(hosts):
        return []
    image_gib = model_servers()[server.kind].image_gib
    least = least_root_gib(image_gib, cache_gib=kept_gib)
    if size >= least:
        return []
    cache = f", the model's cache {kept_gib} GiB" if kept_gib else ""
    return [
        Problem(
            code=Code.HOST_ROOT_VOLUME,
            message=f"the root volume of {size} GiB does not hold what a host needs: the image of {server.kind} takes "
            f"about {image_gib} GiB, the system {host_facts().os_gib} GiB{cache}",
            remedy="leave it out, which is "
            f"{default_root_gib(image_gib, cache_gib=kept_gib)} GiB with room for an update beside the running image",
            path=("root_volume_gib",),
            value=size,
            allowed=f"{least} GiB or more",
        )
    ]


def _check_mount(hosts: Hosts, model: Model) -> list[Problem]:
    if not hosts.managed or model.source != ModelSource.S3:
        return []
    return [
        Problem(
            code=Code.HOST_MANAGED_MOUNT,
            message=f"the model {model.location} is mounted by Mountpoint for S3 on the host, and on ECS Managed "
            "Instances nothing of ours runs on the host",
            remedy="take hosts of capacity 'ec2', or a model from the Hub or in the image",
            path=("capacity",),
            value=str(hosts.capacity),
            allowed=str(Capacity.EC2),
        )
    ]


_SAGEMAKER = "ml."


def check_host_type(name: str, *, managed: bool) -> list[Problem]:
    """Check that EC2 has the type, that it has Neuron devices, and that the capacity offers it."""
    if is_unresolved(name):
        return []
    if ec2_facts_of(name) is None:
        return [_unknown(name)]
    if neuron_instance(name) is None:
        return [_without_neuron(name)]
    if managed and _family(name) not in host_facts().managed_families:
        return [_not_managed(name)]
    return []


def nearest_neuron_type(name: str) -> str:
    """Return the type with Neuron devices that `name` is most likely meant to be: its family first, then its size.

    Of a size that its family does not have, it is the next larger one, since what fits the smaller fits that as well;
    of one above all others, the largest.
    """
    family, _, size = name.strip().casefold().removeprefix(_SAGEMAKER).partition(".")
    names = neuron_instance_names()
    near_family = family if family in set(map(_family, names)) else nearest(family, map(_family, names))
    own = [each for each in names if _family(each) == near_family] or names
    if not size[: -len("xlarge")].isdigit() or not size.endswith("xlarge"):
        return nearest(f"{near_family}.{size}", own) or own[0]
    larger = [each for each in own if _times(each) >= int(size[: -len("xlarge")])]
    return min(larger, key=_times) if larger else max(own, key=_times)


def _times(name: str) -> int:
    """Return the number before `xlarge`; 1 where there is none."""
    return int(name.partition(".")[2].removesuffix("xlarge") or 1)


def _family(name: str) -> str:
    return name.partition(".")[0]


def _unknown(name: str) -> Problem:
    prefixed = name.strip().startswith(_SAGEMAKER)
    family = _family(name.strip().casefold().removeprefix(_SAGEMAKER))
    own = [each for each in neuron_instance_names() if _family(each) == family]
    return Problem(
        code=Code.HOST_TYPE,
        message="this is SageMaker's name of an instance type; EC2's has no 'ml.'"
        if prefixed
        else f"EC2 has no instance type {name!r}",
        remedy=f"write {nearest_neuron_type(name)!r}, the nearest that there is; "
        + (
            f"in Python, Ec2InstanceType.of(…) is for a size of {family} newer than this release of llm-fleet"
            if own
            else "NeuronCores and memory of a newer family are only known to a newer release of llm-fleet"
        ),
        path=("instance_type",),
        value=name,
        allowed=", ".join(own or neuron_instance_names()),
    )


def _without_neuron(name: str) -> Problem:
    return Problem(
        code=Code.HOST_WITHOUT_NEURON,
        message=f"{name} has no Neuron devices of which cores and memory are known, and the model servers need them",
        remedy=f"write {nearest_neuron_type(name)!r}",
        path=("instance_type",),
        value=name,
        allowed=", ".join(neuron_instance_names()),
    )


def _not_managed(name: str) -> Problem:
    families = host_facts().managed_families
    return Problem(
        code=Code.HOST_MANAGED_TYPE,
        message=f"ECS Managed Instances do not hand the Neuron devices of {_family(name)} to tasks",
        remedy="take an instance type of these families, or hosts of capacity 'ec2'",
        path=("instance_type",),
        value=name,
        allowed=", ".join(families),
    )


_AMI_ID = re.compile(r"ami-([0-9a-f]{8}|[0-9a-f]{17})")
_RELEASE = re.compile(r"20\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")


def is_ami_id(ami: str) -> bool:
    """Return whether `ami` is the id of an AMI, and no release; a token is taken for an id."""
    return is_unresolved(ami) or _AMI_ID.fullmatch(ami) is not None


def check_ami(hosts: Hosts) -> list[Problem]:
    """Check that `ami` is a release or an id, and that nothing of the host's is told where AWS chooses it."""
    if hosts.managed:
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


def check_driver_source(hosts: Hosts, driver_version: str, *, internet: InternetAccess | None = None) -> list[Problem]:
    """Check that hosts can have `driver_version`: from their AMI, or installed at boot from Neuron's repository.

    `internet` is the network's; `None` where nobody told. What an AMI of one's own carries only the host can tell.
    """
    if hosts.managed or is_unresolved((driver_version, hosts.ami or "")):
        return []
    release = hosts.ami or ami_for(driver_version)
    carried = ami_releases().get(release)
    if is_ami_id(release) or carried is None or carried == driver_version:
        return []
    if not hosts.installs_driver:
        return [_other_driver(hosts, release, carried, driver_version)]
    if internet == InternetAccess.NONE:
        return [_unreachable(hosts, release, carried, driver_version)]
    return []


def _check_managed(hosts: Hosts) -> list[Problem]:
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


def _other_driver(hosts: Hosts, release: str, carried: str, driver: str) -> Problem:
    fitting = ami_for(driver)
    found = ami_releases()[fitting] == driver
    return Problem(
        code=Code.HOST_AMI_DRIVER,
        message=f"release {release} of the AMI is believed to carry the Neuron driver {carried}, the service's hosts "
        f"are pinned to {driver}, and they may install none",
        remedy=(f"take the release {fitting!r}, which is believed to carry it, or " if found else "")
        + "let hosts install the driver at boot (install_driver)",
        path=("ami",) if hosts.ami else ("install_driver",),
        value=hosts.ami or hosts.installs_driver,
    )


def _unreachable(hosts: Hosts, release: str, carried: str, driver: str) -> Problem:
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
