"""Instance types of a cluster: that they exist, that the image runs on them, and that they go together."""

import re
from collections import Counter
from collections.abc import Callable

from llm_fleet.catalog.ec2_instances import Ec2Instance, ec2_facts_of, ec2_instance, ec2_instance_names
from llm_fleet.catalog.parallelcluster import families_without_drivers, unsupported_oses
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import nearest
from llm_fleet.spec.parallelcluster import PlacedParallelCluster
from llm_fleet.spec.parallelcluster_queue import ComputeResource

_PREFIX = "ml."


def check_type(name: str, *path: PathPart) -> list[Problem]:
    """Check that EC2 has `name` (InstanceTypeValidator). One made by `Ec2InstanceType.of` passes."""
    if is_unresolved(name) or ec2_facts_of(name) is not None:
        return []
    bare = name.strip().removeprefix(_PREFIX)
    if name.strip() != bare and ec2_instance(bare) is not None:
        return [
            Problem(
                code=Code.PC_INSTANCE_TYPE_PREFIX,
                message="this is SageMaker's name of the instance type; EC2's has no 'ml.'",
                remedy=f"write {bare!r}",
                path=path,
                value=name,
            )
        ]
    offer = nearest_ec2_type(name)
    newer = "Ec2InstanceType.of(…), in Python, for one that this release of llm-fleet does not know"
    family = bare.casefold().partition(".")[0]
    return [
        Problem(
            code=Code.PC_INSTANCE_TYPE,
            message="no instance type of EC2's is known by this name",
            remedy=f"write {offer!r}, or {newer}" if offer else f"write a name as EC2 does, or {newer}",
            path=path,
            value=name,
            allowed=", ".join(f"{family}.{size}" for size in _sizes_of(family)),
        )
    ]


def check_resource_types(resource: ComputeResource) -> list[Problem]:
    """Check that a compute resource has instance types of EC2's, or takes that of its reservation."""
    if is_unresolved(resource.types):
        return []
    if not resource.types:
        reservation = resource.capacity_reservation
        if reservation is not None and reservation.reservation_id is not None:
            return []
        return [
            Problem(
                code=Code.PC_INSTANCE_TYPE,
                message="there is neither an instance type nor a capacity reservation that could tell one",
                remedy="write an instance type, e.g. 'trn1.32xlarge', or give the compute resource itself the id of "
                "a reservation (that of its queue is not looked at)",
                path=("instance_types",),
            )
        ]
    return [
        problem for index, name in enumerate(resource.types) for problem in check_type(name, "instance_types", index)
    ]


def check_types_run(cluster: PlacedParallelCluster) -> list[Problem]:
    """Check that the cluster's image runs on every instance type that is known."""
    head = cluster.head_node
    return [
        *_check_runs(cluster, head.instance_type, head.image_id, "head_node", "instance_type"),
        *(
            problem
            for pool in cluster.login_pools
            for problem in _check_runs(
                cluster, pool.instance_type, pool.image_id, "login_pools", pool.name, "instance_type"
            )
        ),
        *(
            problem
            for queue in cluster.queues
            for resource in queue.compute_resources
            for index, name in enumerate(resource.types)
            for problem in _check_runs(
                cluster,
                name,
                queue.image_id,
                *("queues", queue.name, "compute_resources", resource.name, "instance_types", index),
            )
        ),
    ]


def nearest_ec2_type(name: str) -> str | None:
    """Return the type that `name` is most likely meant to be: its family first, then its size."""
    family, dot, size = name.strip().casefold().removeprefix(_PREFIX).partition(".")
    families = {known.partition(".")[0] for known in ec2_instance_names()}
    near_family = family if family in families else nearest(family, families)
    if not dot or near_family is None:  # a like size of an unlike family would mislead
        return nearest(f"{family}.{size}" if dot else family, ec2_instance_names())
    near_size = nearest(re.sub(r"xl$", "xlarge", size), _sizes_of(near_family))
    return f"{near_family}.{near_size}" if near_size else None


def _sizes_of(family: str) -> list[str]:
    """The sizes of `family`, smallest first."""
    known = [facts for name in ec2_instance_names() if name.startswith(f"{family}.") and (facts := ec2_instance(name))]
    return [facts.name.partition(".")[2] for facts in sorted(known, key=lambda facts: facts.vcpus)]


def _check_runs(cluster: PlacedParallelCluster, name: str, image_id: str | None, *path: PathPart) -> list[Problem]:
    if is_unresolved((name, cluster.os)):
        return []
    family = name.partition(".")[0]
    own_image = image_id is not None or cluster.image_id is not None
    if family in families_without_drivers() and not own_image:
        return [
            Problem(
                code=Code.PC_INSTANCE_OS,
                message=f"the NVIDIA driver of ParallelCluster's images does not know the GPUs of {family}",
                remedy="take a newer GPU, e.g. 'g5.xlarge', or give the image_id of one with the closed driver",
                path=path,
                value=name,
            )
        ]
    refused = unsupported_oses().get(family, ())
    if cluster.os not in refused:
        return []
    return [
        Problem(
            code=Code.PC_INSTANCE_OS,
            message=f"{family} does not run {cluster.os}",
            remedy="write 'alinux2023' as the cluster's os",
            path=path,
            value=name,
            allowed=f"any operating system but {', '.join(refused)}",
        )
    ]


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


_EXAMPLES = {"x86_64": "m5.2xlarge", "arm64": "m7g.2xlarge"}


def check_architecture(cluster: PlacedParallelCluster) -> list[Problem]:
    """Check that queues and login pools are of the head node's architecture.

    ParallelCluster checks queues (InstanceArchitectureCompatibilityValidator); login pools only against their image,
    which is of the head node's architecture unless they have one of their own.
    """
    head = _architecture(cluster.head_node.instance_type)
    if head is None:
        return []
    return [
        *(
            problem
            for queue in cluster.queues
            for resource in queue.compute_resources
            for index, name in enumerate(resource.types)
            for problem in _check_same(
                head, name, "queues", queue.name, "compute_resources", resource.name, "instance_types", index
            )
        ),
        *(
            problem
            for pool in cluster.login_pools
            for problem in _check_same(head, pool.instance_type, "login_pools", pool.name, "instance_type")
        ),
    ]


def _check_same(head: str, name: str, *path: PathPart) -> list[Problem]:
    own = _architecture(name)
    if own is None or own == head:
        return []
    return [
        Problem(
            code=Code.PC_ARCHITECTURE,
            message=f"{name} is {own}, and the head node, whose Slurm all nodes run, is {head}",
            remedy=_remedy(head, own),
            path=path,
            value=name,
            allowed=head,
        )
    ]


def _remedy(head: str, own: str) -> str:
    """ParallelCluster has no operating system for Mac instances, whose architectures have no example."""
    here = f"an instance type of {head if head in _EXAMPLES else ' or '.join(_EXAMPLES)} here"
    return f"take a head node of {own}, e.g. {_EXAMPLES[own]!r}, or {here}" if own in _EXAMPLES else f"take {here}"


def _architecture(name: str) -> str | None:
    facts = None if is_unresolved(name) else ec2_facts_of(name)
    return None if facts is None else facts.architecture
