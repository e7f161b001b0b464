"""The hosts under an inference service: instance type, AMI and driver, and whether server and model can be on them."""

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
    """Check what hosts alone can tell. Paths are its attribute names."""
    return [*_check_ami(hosts), *_check_driver_form(hosts), *_check_volume_is_offered(hosts)]


def check_hosts_with(hosts: Hosts, *, server: ModelServer, model: Model) -> list[Problem]:
    """Check that image and model's cache fit on the root volume, and that the model can be reached there."""
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
        "the root volume is smaller than the AMI's own" if below else "EBS sells no gp3 of this size",
        "leave it out: it is then as large as image and cache need",
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
        f"the root volume of {size} GiB does not hold what a host needs: the image of {server.kind} takes "
        f"about {image_gib} GiB, the system {host_facts().os_gib} GiB{cache}",
        "leave it out, which is "
        f"{default_root_gib(image_gib, cache_gib=kept_gib)} GiB with room for an update beside the running image",
        allowed=f"{least} GiB or more",
    )


def _check_mount(hosts: Hosts, model: Model) -> Iterator[Problem]:
    if hosts.managed and model.source == ModelSource.S3:
        yield hosts.wrong(
            "capacity",
            Code.HOST_MANAGED_MOUNT,
            f"the model {model.location} is mounted by Mountpoint for S3 on the host, and on ECS Managed "
            "Instances nothing of ours runs on the host",
            "take hosts of capacity 'ec2', or a model from the Hub or in the image",
            allowed=str(Capacity.EC2),
        )


_SAGEMAKER = "ml."


@rule
def check_host_type(name: str, *, managed: bool) -> Iterator[Problem]:
    """Check that EC2 has the type, that it has Neuron devices, and that the capacity offers it."""
    if is_unresolved(name):
        return
    if ec2_facts_of(name) is None:
        yield _unknown(name)
    elif neuron_instance(name) is None:
        yield Problem(
            code=Code.HOST_WITHOUT_NEURON,
            message=f"{name} has no Neuron devices of which cores and memory are known, and the model servers need "
            "them",
            remedy=f"write {nearest_neuron_type(name)!r}",
            path=("instance_type",),
            value=name,
            allowed=", ".join(neuron_instance_names()),
        )
    elif managed and _family(name) not in host_facts().managed_families:
        yield Problem(
            code=Code.HOST_MANAGED_TYPE,
            message=f"ECS Managed Instances do not hand the Neuron devices of {_family(name)} to tasks",
            remedy="take an instance type of these families, or hosts of capacity 'ec2'",
            path=("instance_type",),
            value=name,
            allowed=", ".join(host_facts().managed_families),
        )


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


_AMI_ID = re.compile(r"ami-([0-9a-f]{8}|[0-9a-f]{17})")
_RELEASE = re.compile(r"20\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")


def is_ami_id(ami: str) -> bool:
    """Return whether `ami` is the id of an AMI, and no release; a token is taken for an id."""
    return is_unresolved(ami) or _AMI_ID.fullmatch(ami) is not None


def _check_ami(hosts: Hosts) -> Iterator[Problem]:
    """Check that `ami` is a release or an id, and that nothing of the host's is set where AWS chooses it."""
    if hosts.managed:
        for name in ("ami", "driver_version", "install_driver"):
            if getattr(hosts, name):
                yield hosts.wrong(
                    name,
                    Code.HOST_MANAGED_PIN,
                    f"AWS chooses image and driver of Managed Instances: nobody can tell their {name}",
                    f"leave {name} out, or take hosts of capacity 'ec2', whose driver is pinned",
                )
    elif hosts.ami is not None and not is_ami_id(hosts.ami) and not _RELEASE.fullmatch(hosts.ami):
        newest = max(ami_releases())
        yield hosts.wrong(
            "ami",
            Code.HOST_AMI,
            "this is neither a release of the ECS-optimized Neuron AMI nor the id of an AMI",
            f"write the date of a release, e.g. {newest!r}, or an id as 'ami-0123456789abcdef0'; "
            "left out, it is the release that is believed to carry the pinned driver",
        )


@rule
def check_driver_source(
    hosts: Hosts, driver_version: str, *, internet: InternetAccess | None = None
) -> Iterator[Problem]:
    """Check that hosts can have `driver_version`: from their AMI, or installed at boot from Neuron's repository.

    `internet` is the network's; `None` where nobody told. What an AMI of one's own carries only the host can tell.
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
            f"release {release} of the AMI is believed to carry the Neuron driver {carried}, the service's hosts are "
            f"pinned to {driver_version}, and they may install none",
            (f"take the release {fitting!r}, which is believed to carry it, or " if found else "")
            + "let hosts install the driver at boot (install_driver)",
            value=hosts.ami or hosts.installs_driver,
        )
    elif internet == InternetAccess.NONE:
        yield hosts.wrong(
            "ami" if hosts.ami else "driver_version",
            Code.HOST_DRIVER_UNREACHABLE,
            f"release {release} of the AMI is believed to carry the Neuron driver {carried}; {driver_version} would be "
            "installed at boot from yum.repos.neuron.amazonaws.com, and the network has no way to the internet",
            (f"take the release {fitting!r}, which is believed to carry it, or " if found else "")
            + f"an AMI of your own with {driver_version}, or a network with a NAT gateway",
            value=hosts.ami or driver_version,
        )


_FORM = re.compile(r"\d+(\.\d+){3}")
_NAMES = {DRIVER: "driver", RUNTIME: "runtime"}


def runtime_of(server: ModelServer) -> str:
    """Return the version of `aws-neuronx-runtime-lib` in the server's image: as told, else the catalog's."""
    return server.runtime_version or model_servers()[server.kind].runtime


def driver_for(server: ModelServer) -> str:
    """Return the newest driver that goes with the server's image: what its hosts are pinned to.

    With a runtime that is a token, or no version, it is the driver for the catalog's image: the rules tell the rest.
    """
    runtime = runtime_of(server)
    if is_unresolved(runtime) or check_version(runtime):
        runtime = model_servers()[server.kind].runtime
    return max(_fitting(runtime), key=parts)


@rule
def check_driver(server: ModelServer, hosts: Hosts) -> Iterator[Problem]:
    """Return why the driver of `hosts` and the server's image refuse each other."""
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
            f"the host's Neuron driver {driver} and the runtime {runtime} of {image} refuse each other: from "
            f"{edge.from_version} on, a {_NAMES[edge.package]} needs a {_NAMES[edge.other]} of {edge.at_least} or "
            "newer",
            f"write {max(fitting, key=parts)!r}, which is what it is when left out" + _other_servers(driver),
            allowed=", ".join(fitting),
        )


def _other_servers(driver: str) -> str:
    """Name the servers that go with `driver`, and where they run: it need not be on the instance in question."""
    going = [
        f"{each.name!r} on {', '.join(each.families)}"
        for each in model_servers().values()
        if _broken(driver=driver, runtime=each.runtime) is None
    ]
    return f"; with this driver goes the server {' or '.join(going)}" if going else ""


def _fitting(runtime: str) -> list[str]:
    """Return the catalog's drivers that go with `runtime`, the newest first.

    None that is older than the driver released with it: nothing says that these refuse each other, and nobody tries.
    """
    releases = [each.host for each in neuron_releases().values()]
    with_it = [host[DRIVER] for host in releases if parts(host[RUNTIME]) <= parts(runtime)]
    oldest = max(with_it, key=parts, default="0")
    known = dict.fromkeys(host[DRIVER] for host in releases if parts(host[DRIVER]) >= parts(oldest))
    return [driver for driver in known if _broken(driver=driver, runtime=runtime) is None]


def _broken(*, driver: str, runtime: str) -> NeuronEdge | None:
    """Return what the two ask of each other and do not get; `None` when they go together."""
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
            message="this is no version of a Neuron package",
            remedy="write all four numbers, e.g. '2.28.0.0'",
            path=path,
            value=version,
        )
