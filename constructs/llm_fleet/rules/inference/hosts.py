"""The hosts under an inference service: what each is, and whether server and model can be on it."""

from llm_fleet.catalog.model_server import model_servers
from llm_fleet.catalog.neuron import default_root_gib, host_facts, least_root_gib
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.forms import check_attributes, passing_over, wrong_names
from llm_fleet.rules.inference.host_ami import check_ami
from llm_fleet.rules.inference.host_type import check_host_type
from llm_fleet.rules.inference.part_forms import HOSTS
from llm_fleet.rules.inference.protocols import HostsLike, ModelLike, ServerLike
from llm_fleet.rules.inference.terms import Capacity, ModelSource
from llm_fleet.rules.inference.version import check_version
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved


def check_hosts(hosts: HostsLike) -> list[Problem]:
    """Check what hosts alone can tell. Paths are attribute names of `HostsLike`."""
    of_forms = check_attributes(hosts, HOSTS)
    hosts = passing_over(hosts, wrong_names(of_forms))
    return [
        *of_forms,
        *check_host_type(hosts),
        *check_ami(hosts),
        *_check_driver_form(hosts),
        *_check_volume_is_sold(hosts),
    ]


def check_hosts_with(
    hosts: HostsLike, *, server: ServerLike, model: ModelLike, cache_gib: int | None = None
) -> list[Problem]:
    """Check that the image fits on the root volume, and that the model can be reached there.

    `cache_gib`: of the root volume, for the model's cache; `None` without one. Paths are those of `hosts`.
    """
    return [*_check_room(hosts, server, cache_gib or 0), *_check_mount(hosts, model)]


def _check_driver_form(hosts: HostsLike) -> list[Problem]:
    driver = hosts.driver_version
    if driver is None or is_unresolved(driver) or hosts.capacity == Capacity.MANAGED_INSTANCES:
        return []
    return check_version(driver, "driver_version")


def _check_volume_is_sold(hosts: HostsLike) -> list[Problem]:
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


def _check_room(hosts: HostsLike, server: ServerLike, cache_gib: int) -> list[Problem]:
    size = hosts.root_volume_gib
    if size is None or is_unresolved((size, cache_gib)) or _check_volume_is_sold(hosts):
        return []
    image_gib = model_servers()[server.kind].image_gib
    least = least_root_gib(image_gib, cache_gib=cache_gib)
    if size >= least:
        return []
    cache = f", the model's cache {cache_gib} GiB" if cache_gib else ""
    return [
        Problem(
            code=Code.HOST_ROOT_VOLUME,
            message=f"the root volume of {size} GiB does not hold what a host needs: the image of {server.kind} takes "
            f"about {image_gib} GiB, the system {host_facts().os_gib} GiB{cache}",
            remedy="leave it out, which is "
            f"{default_root_gib(image_gib, cache_gib=cache_gib)} GiB with room for an update beside the running image",
            path=("root_volume_gib",),
            value=size,
            allowed=f"{least} GiB or more",
        )
    ]


def _check_mount(hosts: HostsLike, model: ModelLike) -> list[Problem]:
    if hosts.capacity != Capacity.MANAGED_INSTANCES or model.source != ModelSource.S3:
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
