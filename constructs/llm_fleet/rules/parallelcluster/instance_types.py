"""Instance types of a cluster: that they exist, support the image, and can be combined."""

from collections.abc import Iterator

from llm_fleet.catalog.ec2_instances import Ec2Instance, ec2_facts_of, ec2_instance, ec2_instance_names
from llm_fleet.catalog.parallelcluster import families_without_drivers, unsupported_oses
from llm_fleet.rules.codes import Code
from llm_fleet.rules.instance_type import nearest_size
from llm_fleet.rules.parallelcluster.nodes import known_types
from llm_fleet.rules.problem import PathPart, Problem, is_unresolved, rule
from llm_fleet.rules.values import nearest, repeated
from llm_fleet.spec.parallelcluster import PlacedParallelCluster
from llm_fleet.spec.parallelcluster_queue import ComputeResource, Queue

_PREFIX = "ml."


@rule
def check_type(name: str, *path: PathPart) -> Iterator[Problem]:
    """Check that `name` is an EC2 instance type (InstanceTypeValidator). One made by `Ec2InstanceType.of` passes."""
    if is_unresolved(name) or ec2_facts_of(name) is not None:
        return
    bare = name.strip().removeprefix(_PREFIX)
    if name.strip() != bare and ec2_instance(bare) is not None:
        yield Problem(
            code=Code.PC_INSTANCE_TYPE_PREFIX,
            message="this is SageMaker's name of the instance type; EC2 instance types have no prefix 'ml.'",
            remedy=f"write `{bare}`",
            path=path,
            value=name,
        )
        return
    offer = nearest_ec2_type(name)
    newer = "Ec2InstanceType.of(…), in Python, for one that this release of llm-fleet does not know"
    family = bare.casefold().partition(".")[0]
    yield Problem(
        code=Code.PC_INSTANCE_TYPE,
        message="this EC2 instance type is unknown",
        remedy=f"write `{offer}`, or {newer}" if offer else f"write the name of an EC2 instance type, or {newer}",
        path=path,
        value=name,
        allowed=", ".join(f"{family}.{size}" for size in _sizes_of(family)),
    )


@rule
def check_resource_types(resource: ComputeResource) -> Iterator[Problem]:
    """Check that a compute resource has EC2 instance types, or a reservation with one."""
    reservation = resource.capacity_reservation
    if is_unresolved(resource.types):
        return
    for index, name in enumerate(resource.types):
        yield from check_type(name, "instance_types", index)
    if not resource.types and (reservation is None or reservation.reservation_id is None):
        yield resource.wrong(
            "instance_types",
            Code.PC_INSTANCE_TYPE,
            "the compute resource has neither an instance type nor a capacity reservation",
            "write an instance type, e.g. `trn1.32xlarge`, or give the compute resource itself the ID of "
            "a reservation (that of its queue does not count)",
            value=None,
        )


@rule
def check_types_run(cluster: PlacedParallelCluster) -> Iterator[Problem]:
    """Check that every known instance type supports the cluster's image."""
    head = cluster.head_node
    yield from _check_runs(cluster, head.instance_type, head.image_id, "head_node", "instance_type")
    for pool in cluster.login_pools:
        path = ("login_pools", pool.name, "instance_type")
        yield from _check_runs(cluster, pool.instance_type, pool.image_id, *path)
    for queue, name, path in _types_of_queues(cluster):
        yield from _check_runs(cluster, name, queue.image_id, *path)


def _types_of_queues(cluster: PlacedParallelCluster) -> Iterator[tuple[Queue, str, tuple[PathPart, ...]]]:
    """Yield each instance type of each compute resource, with its queue and its path."""
    for queue in cluster.queues:
        for resource in queue.compute_resources:
            path = ("queues", queue.name, "compute_resources", resource.name, "instance_types")
            for index, name in enumerate(resource.types):
                yield queue, name, (*path, index)


def nearest_ec2_type(name: str) -> str | None:
    """Return the instance type closest to `name`: by family first, then by size."""
    family, dot, size = name.strip().casefold().removeprefix(_PREFIX).partition(".")
    families = {known.partition(".")[0] for known in ec2_instance_names()}
    if not dot or (family not in families and nearest(family, families) is None):
        return nearest(f"{family}{dot}{size}", ec2_instance_names())
    return nearest_size(family, size, families, _sizes_of)


def _sizes_of(family: str) -> list[str]:
    """The sizes of `family`, smallest first."""
    known = [facts for name in ec2_instance_names() if name.startswith(f"{family}.") and (facts := ec2_instance(name))]
    return [facts.name.partition(".")[2] for facts in sorted(known, key=lambda facts: facts.vcpus)]


def _check_runs(cluster: PlacedParallelCluster, name: str, image_id: str | None, *path: PathPart) -> Iterator[Problem]:
    if is_unresolved((name, cluster.os)):
        return
    family = name.partition(".")[0]
    own_image = image_id is not None or cluster.image_id is not None
    if family in families_without_drivers() and not own_image:
        yield Problem(
            code=Code.PC_INSTANCE_OS,
            message=f"the NVIDIA driver of ParallelCluster's images does not support the GPUs of {family}",
            remedy="write a newer GPU type, e.g. `g5.xlarge`, or the image_id of an image with the proprietary driver",
            path=path,
            value=name,
        )
        return
    refused = unsupported_oses().get(family, ())
    if cluster.os in refused:
        yield Problem(
            code=Code.PC_INSTANCE_OS,
            message=f"{family} does not support {cluster.os}",
            remedy="write `alinux2023` as the cluster's os",
            path=path,
            value=name,
            allowed=f"any operating system except {', '.join(refused)}",
        )


@rule
def check_mixed_types(resource: ComputeResource) -> Iterator[Problem]:
    """Check that mixed types have equal CPUs and accelerators, and that none is listed twice.

    InstancesCPUValidator counts cores with hyper-threading off, else vCPUs; InstancesAcceleratorsValidator compares
    numbers and manufacturers. Architecture and EFA have their own rules.
    """
    if is_unresolved(resource.types) or len(resource.types) < 2:
        return
    for name, count in repeated(resource.types).items():
        yield resource.wrong(
            "instance_types",
            Code.PC_MIXED_TYPES,
            f"{name} is listed {count} times in the instance types",
            "list it once",
            value=name,
        )
    for describe in (_vcpus if resource.hyperthreading else _cores, _accelerators):
        reported = {facts.name: describe(facts) for facts in known_types(resource)}
        if len(set(reported.values())) > 1:
            differing = "; ".join(f"{name} has {what}" for name, what in reported.items())
            yield resource.wrong(
                "instance_types",
                Code.PC_MIXED_TYPES,
                f"all nodes of a compute resource must be equal for Slurm, but these differ: {differing}",
                "write a compute resource for each; they can be in the same queue",
                value=list(reported),
            )


def _vcpus(facts: Ec2Instance) -> str:
    return f"{facts.vcpus} vCPUs"


def _cores(facts: Ec2Instance) -> str:
    return f"{facts.cores} cores, with hyper-threading off"


def _accelerators(facts: Ec2Instance) -> str:
    if facts.accelerator is None:
        return "no accelerators"
    return f"{facts.accelerators} {facts.gpu_maker or 'Neuron'} {'GPUs' if facts.gpu_maker else 'devices'}"


_EXAMPLES = {"x86_64": "m5.2xlarge", "arm64": "m7g.2xlarge"}


@rule
def check_architecture(cluster: PlacedParallelCluster) -> Iterator[Problem]:
    """Check that queues and login pools have the head node's architecture.

    ParallelCluster checks queues (InstanceArchitectureCompatibilityValidator); login pools only against their image,
    which has the head node's architecture unless they have their own.
    """
    head = _architecture(cluster.head_node.instance_type)
    if head is None:
        return
    for _, name, path in _types_of_queues(cluster):
        yield from _check_same(head, name, *path)
    for pool in cluster.login_pools:
        yield from _check_same(head, pool.instance_type, "login_pools", pool.name, "instance_type")


def _check_same(head: str, name: str, *path: PathPart) -> Iterator[Problem]:
    own = _architecture(name)
    if own is not None and own != head:
        yield Problem(
            code=Code.PC_ARCHITECTURE,
            message=f"{name} is {own}, but the head node, whose Slurm all nodes run, is {head}",
            remedy=_remedy(head, own),
            path=path,
            value=name,
            allowed=head,
        )


def _remedy(head: str, own: str) -> str:
    """ParallelCluster does not support Mac instances, so their architectures have no example."""
    here = f"an instance type of {head if head in _EXAMPLES else ' or '.join(_EXAMPLES)} here"
    return f"write a head node of {own}, e.g. `{_EXAMPLES[own]}`, or {here}" if own in _EXAMPLES else f"write {here}"


def _architecture(name: str) -> str | None:
    facts = None if is_unresolved(name) else ec2_facts_of(name)
    return None if facts is None else facts.architecture
