"""The hosts of an inference service: instance type, AMI, driver, and whether server and model can run on them."""

import re
from collections.abc import Iterator

from llm_fleet.catalog.ec2_instances import ec2_facts_of
from llm_fleet.catalog.model_server import model_servers
from llm_fleet.catalog.neuron import (
    DRIVER,
    RUNTIME,
    NeuronEdge,
    ami_for,
    ami_releases,
    compatibility,
    default_root_gib,
    host_facts,
    least_root_gib,
    neuron_instance,
    neuron_instance_names,
    neuron_releases,
    parts,
)
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.fit import cache_gib
from llm_fleet.rules.problem import Problem, is_unresolved, rule
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.values import nearest
from llm_fleet.spec.model_server import ModelServer
from llm_fleet.spec.model_shape import Model, ModelSource
from llm_fleet.spec.service import Capacity, Hosts


def check_hosts(hosts: Hosts) -> list[Problem]:
    """Check AMI, driver version and volume of `hosts` by themselves. Paths are its attribute names."""
    return [*_check_ami(hosts), *_check_driver_form(hosts), *_check_volume_is_offered(hosts)]


def check_hosts_with(hosts: Hosts, *, server: ModelServer, model: Model) -> list[Problem]:
    """Check that image and model cache fit on the root volume, and that the hosts can mount the model."""
    return [*_check_room(hosts, server, cache_gib(model) or 0), *_check_mount(hosts, model)]


def _check_driver_form(hosts: Hosts) -> list[Problem]:
    driver = hosts.driver_version
    if driver is None or is_unresolved(driver) or hosts.managed:
        return []
    return check_version(driver, "driver_version")


@rule
def _check_volume_is_offered(hosts: Hosts) -> Iterator[Problem]:
    size, facts = hosts.root_volume_gib, host_facts()
    if size is None or is_unresolved(size) or facts.root_minimum_gib <= size <= facts.root_maximum_gib:
        return
    below = size < facts.root_minimum_gib
    yield hosts.wrong(
        "root_volume_gib",
        Code.HOST_ROOT_VOLUME,
        "the root volume is smaller than that of the AMI" if below else "EBS offers no gp3 volume of this size",
        "remove it to use the size that image and cache need",
        allowed=f"{facts.root_minimum_gib} to {facts.root_maximum_gib} GiB",
    )


def _check_room(hosts: Hosts, server: ModelServer, kept_gib: int) -> Iterator[Problem]:
    size = hosts.root_volume_gib
    if size is None or is_unresolved((size, kept_gib)) or _check_volume_is_offered(hosts):
        return
    image_gib = model_servers()[server.kind].image_gib
    least = least_root_gib(image_gib, cache_gib=kept_gib)
    if size >= least:
        return
    cache = f", the model's cache {kept_gib} GiB" if kept_gib else ""
    yield hosts.wrong(
        "root_volume_gib",
        Code.HOST_ROOT_VOLUME,
        f"the root volume of {size} GiB is too small: the image of {server.kind} needs "
        f"about {image_gib} GiB, the operating system {host_facts().os_gib} GiB{cache}",
        "remove it to use the default of "
        f"{default_root_gib(image_gib, cache_gib=kept_gib)} GiB, which has space for an update of the image",
        allowed=f"{least} GiB or more",
    )


def _check_mount(hosts: Hosts, model: Model) -> Iterator[Problem]:
    if hosts.managed and model.source == ModelSource.S3:
        yield hosts.wrong(
            "capacity",
            Code.HOST_MANAGED_MOUNT,
            f"the model {model.location} needs Mountpoint for Amazon S3 on the host, which llm-fleet cannot install "
            "on ECS Managed Instances",
            "use hosts of capacity 'ec2', or a model on the Hugging Face Hub or in the image",
            allowed=str(Capacity.EC2),
        )


_SAGEMAKER = "ml."


@rule
def check_host_type(name: str, *, managed: bool) -> Iterator[Problem]:
    """Check that the instance type exists, has Neuron devices, and is supported by the capacity."""
    if is_unresolved(name):
        return
    if ec2_facts_of(name) is None:
        yield _unknown(name)
    elif neuron_instance(name) is None:
        yield Problem(
            code=Code.HOST_WITHOUT_NEURON,
            message=f"{name} has no Neuron devices (with known cores and memory), which the model servers need",
            remedy=f"write `{nearest_neuron_type(name)}`",
            path=("instance_type",),
            value=name,
            allowed=", ".join(neuron_instance_names()),
        )
    elif managed and _family(name) not in host_facts().managed_families:
        yield Problem(
            code=Code.HOST_MANAGED_TYPE,
            message=f"ECS Managed Instances do not make the Neuron devices of {_family(name)} available to tasks",
            remedy="use an instance type of the allowed families, or hosts of capacity 'ec2'",
            path=("instance_type",),
            value=name,
            allowed=", ".join(host_facts().managed_families),
        )


def nearest_neuron_type(name: str) -> str:
    """Return the type with Neuron devices that is nearest to `name`, by family first, then by size.

    For a size that the family does not have, it is the next larger one, or else the largest.
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
    """Return the number before `xlarge`; 1 without a number."""
    return int(name.partition(".")[2].removesuffix("xlarge") or 1)


def _family(name: str) -> str:
    return name.partition(".")[0]


def _unknown(name: str) -> Problem:
    prefixed = name.strip().startswith(_SAGEMAKER)
    family = _family(name.strip().casefold().removeprefix(_SAGEMAKER))
    own = [each for each in neuron_instance_names() if _family(each) == family]
    return Problem(
        code=Code.HOST_TYPE,
        message="this is the instance type's name in SageMaker; names in EC2 have no 'ml.'"
        if prefixed
        else f"EC2 has no instance type {name!r}",
        remedy=f"write `{nearest_neuron_type(name)}`, the nearest instance type; "
        + (
            f"in Python, use Ec2InstanceType.of(…) for a size of {family} that is newer than this release of llm-fleet"
            if own
            else "for a newer family, update llm-fleet"
        ),
        path=("instance_type",),
        value=name,
        allowed=", ".join(own or neuron_instance_names()),
    )


_AMI_ID = re.compile(r"ami-([0-9a-f]{8}|[0-9a-f]{17})")
_RELEASE = re.compile(r"20\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")


def is_ami_id(ami: str) -> bool:
    """Return whether `ami` is the id of an AMI, not a release; a CDK token counts as an id."""
    return is_unresolved(ami) or _AMI_ID.fullmatch(ami) is not None


def _check_ami(hosts: Hosts) -> Iterator[Problem]:
    """Check that `ami` is a release or an id, and is not set for Managed Instances, whose AMI AWS chooses."""
    if hosts.managed:
        for name in ("ami", "driver_version", "install_driver"):
            if getattr(hosts, name):
                yield hosts.wrong(
                    name,
                    Code.HOST_MANAGED_PIN,
                    f"`{name}` has no effect: AWS chooses AMI and driver of ECS Managed Instances",
                    f"remove {name}, or use hosts of capacity 'ec2', whose driver is pinned",
                )
    elif hosts.ami is not None and not is_ami_id(hosts.ami) and not _RELEASE.fullmatch(hosts.ami):
        newest = max(ami_releases())
        yield hosts.wrong(
            "ami",
            Code.HOST_AMI,
            "this is neither a release of the ECS-optimized Neuron AMI nor the id of an AMI",
            f"write the date of a release, e.g. `{newest!r}`, or an id as 'ami-0123456789abcdef0'; "
            "the default is the release that is assumed to contain the pinned driver",
        )


@rule
def check_driver_source(
    hosts: Hosts, driver_version: str, *, internet: InternetAccess | None = None
) -> Iterator[Problem]:
    """Check that hosts can get `driver_version`: from their AMI, or at boot from the Neuron repository.

    `internet`: the network's internet access; `None` when unknown. The driver in a user's own AMI is unknown.
    """
    if hosts.managed or is_unresolved((driver_version, hosts.ami or "")):
        return
    fitting = ami_for(driver_version)
    release, found = hosts.ami or fitting, ami_releases()[fitting] == driver_version
    carried = ami_releases().get(release)
    if is_ami_id(release) or carried is None or carried == driver_version:
        return
    if not hosts.installs_driver:
        yield hosts.wrong(
            "ami" if hosts.ami else "install_driver",
            Code.HOST_AMI_DRIVER,
            f"the service needs the Neuron driver {driver_version}, release {release} of the AMI is assumed to contain "
            f"{carried}, and the installation of drivers is disabled",
            (f"use the release `{fitting!r}`, which is assumed to contain it, or " if found else "")
            + "let hosts install the driver at boot (install_driver)",
            value=hosts.ami or hosts.installs_driver,
        )
    elif internet == InternetAccess.NONE:
        yield hosts.wrong(
            "ami" if hosts.ami else "driver_version",
            Code.HOST_DRIVER_UNREACHABLE,
            f"hosts would install the Neuron driver {driver_version} from yum.repos.neuron.amazonaws.com, and the "
            f"network has no internet access. Release {release} of the AMI is assumed to contain {carried}",
            f"use {f'the release `{fitting!r}`, which is assumed to contain it, or ' if found else ''}"
            f"your own AMI with {driver_version}, or a network with a NAT gateway",
            value=hosts.ami or driver_version,
        )


_FORM = re.compile(r"\d+(\.\d+){3}")
_NAMES = {DRIVER: "driver", RUNTIME: "runtime"}


def runtime_of(server: ModelServer) -> str:
    """Return the version of `aws-neuronx-runtime-lib` in the server's image: as set, or that of the catalog's image."""
    return server.runtime_version or model_servers()[server.kind].runtime


def driver_for(server: ModelServer) -> str:
    """Return the newest driver that is compatible with the server's image: hosts are pinned to it.

    For a runtime that is a CDK token or invalid, it is the driver for the catalog's image.
    """
    runtime = runtime_of(server)
    if is_unresolved(runtime) or check_version(runtime):
        runtime = model_servers()[server.kind].runtime
    return max(_fitting(runtime), key=parts)


@rule
def check_driver(server: ModelServer, hosts: Hosts) -> Iterator[Problem]:
    """Return a problem when the driver of `hosts` is incompatible with the server's image."""
    driver, runtime = hosts.driver_version, runtime_of(server)
    if driver is None or is_unresolved(driver):
        return
    problems = check_version(driver, "driver_version")
    yield from problems
    edge = None
    if not problems and not is_unresolved(runtime) and not check_version(runtime):
        edge = _broken(driver=driver, runtime=runtime)
    if edge is not None:
        image, fitting = server.image or f"the image of {server.kind}", _fitting(runtime)
        yield hosts.wrong(
            "driver_version",
            Code.DRIVER_EDGE,
            f"the host's Neuron driver {driver} is incompatible with the runtime {runtime} of {image}: a "
            f"{_NAMES[edge.package]} from {edge.from_version} needs at least {_NAMES[edge.other]} {edge.at_least}",
            f"write `{max(fitting, key=parts)}`, or remove it, which has the same effect" + _other_servers(driver),
            allowed=", ".join(fitting),
        )


def _other_servers(driver: str) -> str:
    """Return text with the servers that are compatible with `driver` and their families, for the remedy."""
    going = [
        f"{each.name!r} on {', '.join(each.families)}"
        for each in model_servers().values()
        if _broken(driver=driver, runtime=each.runtime) is None
    ]
    return f"; this driver is compatible with the server {' or '.join(going)}" if going else ""


def _fitting(runtime: str) -> list[str]:
    """Return the catalog's drivers that are compatible with `runtime`, the newest first.

    Drivers older than the one released with `runtime` are left out.
    """
    releases = [each.host for each in neuron_releases().values()]
    with_it = [host[DRIVER] for host in releases if parts(host[RUNTIME]) <= parts(runtime)]
    oldest = max(with_it, key=parts, default="0")
    known = dict.fromkeys(host[DRIVER] for host in releases if parts(host[DRIVER]) >= parts(oldest))
    return [driver for driver in known if _broken(driver=driver, runtime=runtime) is None]


def _broken(*, driver: str, runtime: str) -> NeuronEdge | None:
    """Return the requirement that the two do not meet; `None` when they are compatible."""
    have = {DRIVER: parts(driver), RUNTIME: parts(runtime)}
    for edge in compatibility():
        if have[edge.package] >= parts(edge.from_version) and have[edge.other] < parts(edge.at_least):
            return edge
    return None


@rule
def check_version(version: str, *path: str) -> Iterator[Problem]:
    """Check that `version` is a full version of a Neuron package, e.g. `2.28.0.0`."""
    if not _FORM.fullmatch(version):
        yield Problem(
            code=Code.VERSION_FORM,
            message="this is not a version of a Neuron package",
            remedy="write all four numbers, e.g. `2.28.0.0`",
            path=path,
            value=version,
        )
