"""Several instance types in one compute resource: Slurm is told of one kind of node."""

from collections import Counter
from collections.abc import Callable

from llm_fleet.catalog.ec2_instances import Ec2Instance, ec2_facts_of
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.parallelcluster_queue import ComputeResource


def check_mixed_types(resource: ComputeResource) -> list[Problem]:
    """Check that mixed types have like CPUs and accelerators, and that none is named twice.

    InstancesCPUValidator counts cores with hyper-threading off, else vCPUs; InstancesAcceleratorsValidator compares
    numbers and makers. Architecture and EFA have rules of their own.
    """
    if is_unresolved(resource.types) or len(resource.types) < 2:
        return []
    known = [facts for name in resource.types if not is_unresolved(name) and (facts := ec2_facts_of(name))]
    return [
        *_check_repeated(resource),
        *_check_alike(known, _vcpus if resource.hyperthreading else _cores),
        *_check_alike(known, _accelerators),
    ]


def _vcpus(facts: Ec2Instance) -> str:
    return f"{facts.vcpus} vCPUs"


def _cores(facts: Ec2Instance) -> str:
    return f"{facts.cores} cores, with hyper-threading off"


def _accelerators(facts: Ec2Instance) -> str:
    if facts.accelerator is None:
        return "no accelerators"
    return f"{facts.accelerators} {facts.gpu_maker or 'Neuron'} {'GPUs' if facts.gpu_maker else 'devices'}"


def _check_alike(known: list[Ec2Instance], tell: Callable[[Ec2Instance], str]) -> list[Problem]:
    told = {facts.name: tell(facts) for facts in known}
    if len(set(told.values())) < 2:
        return []
    return [
        Problem(
            code=Code.PC_MIXED_TYPES,
            message="one compute resource is one kind of node to Slurm, and these differ: "
            + "; ".join(f"{name} has {what}" for name, what in told.items()),
            remedy="give each kind a compute resource of its own; both may be in this queue",
            path=("instance_types",),
            value=list(told),
        )
    ]


def _check_repeated(resource: ComputeResource) -> list[Problem]:
    counts = Counter(name for name in resource.types if not is_unresolved(name))
    return [
        Problem(
            code=Code.PC_MIXED_TYPES,
            message=f"{name} stands {count} times among the instance types",
            remedy="name it once",
            path=("instance_types",),
            value=name,
        )
        for name, count in counts.items()
        if count > 1
    ]
