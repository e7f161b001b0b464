"""The instance type under an inference service."""

from llm_fleet.catalog.ec2_instances import ec2_facts_of
from llm_fleet.catalog.neuron import host_facts, neuron_instance, neuron_instance_names
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.protocols import HostsLike
from llm_fleet.rules.inference.terms import Capacity
from llm_fleet.rules.nearest import nearest
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved

_SAGEMAKER = "ml."


def check_host_type(hosts: HostsLike) -> list[Problem]:
    """Check that EC2 has the type, that it has Neuron devices, and that the capacity offers it."""
    name = hosts.instance_type
    if is_unresolved(name):
        return []
    if ec2_facts_of(name) is None:
        return [_unknown(name)]
    if neuron_instance(name) is None:
        return [_without_neuron(name)]
    if hosts.capacity == Capacity.MANAGED_INSTANCES and _family(name) not in host_facts().managed_families:
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
