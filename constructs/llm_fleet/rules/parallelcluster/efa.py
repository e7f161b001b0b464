"""EFA: which instances have it, and what it asks of subnets.

That EFA must come with a word about placement (EfaPlacementGroupValidator) needs no rule: `placement_group_of` says one
wherever EFA is on.
"""

from llm_fleet.catalog.ec2_instances import ec2_facts_of, ec2_instance, ec2_instance_names
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.defaults import efa_of
from llm_fleet.rules.parallelcluster.overridden import overridden
from llm_fleet.rules.parallelcluster.subnets import has_several_subnets
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.parallelcluster_queue import ComputeResource, Queue


def check_efa_type(resource: ComputeResource) -> list[Problem]:
    """Check that every type has EFA where it is asked for (EfaValidator, InstancesEFAValidator)."""
    if is_unresolved(resource.efa) or not resource.efa:
        return _check_gdr(resource)
    known = [facts for name in resource.types if not is_unresolved(name) and (facts := ec2_facts_of(name))]
    return [
        Problem(
            code=Code.PC_EFA_TYPE,
            message=f"{facts.name} has no EFA",
            remedy=f"leave efa out, or take {larger!r}, which has it"
            if (larger := _larger_with_efa(facts.family))
            else "leave efa out, or take a type that has it, e.g. 'trn1.32xlarge'",
            path=("efa",),
            value=True,
        )
        for facts in known
        if not facts.efa_interfaces
    ]


def check_efa_subnets(queue: Queue, resource: ComputeResource) -> list[Problem]:
    """Check that nodes that talk by EFA are in one subnet: it does not cross AZs (EfaMultiAzValidator)."""
    if not efa_of(resource) or not has_several_subnets(queue):
        return []
    return [
        Problem(
            code=Code.PC_EFA_SUBNETS,
            message=f"EFA does not cross AZs, and the queue is in {len(queue.subnet_ids)} subnets",
            remedy="put the queue into one subnet, or write `efa: false`",
            path=("efa",),
            value=True if resource.efa else None,
        )
    ]


def _check_gdr(resource: ComputeResource) -> list[Problem]:
    """GPUDirect without EFA; it has had no effect since ParallelCluster 3, and can come only by `overrides`."""
    if overridden(resource.overrides, "Efa", "GdrSupport") is not True or efa_of(resource):
        return []
    return [
        Problem(
            code=Code.PC_EFA_TYPE,
            message="GPUDirect is a feature of EFA, and EFA is off",
            remedy="leave GdrSupport out: where EFA has it, it is on",
            path=("overrides", "Efa", "GdrSupport"),
            value=True,
        )
    ]


def _larger_with_efa(family: str) -> str | None:
    names = [name for name in ec2_instance_names() if name.startswith(f"{family}.")]
    having = [facts for name in names if (facts := ec2_instance(name)) and facts.efa_interfaces]
    return min(having, key=lambda facts: facts.vcpus).name if having else None
