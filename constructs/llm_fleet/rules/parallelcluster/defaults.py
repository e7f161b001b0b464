"""What holds where the user says nothing, by instance type; one answer for rules, construct and fleet file.

An explicit value always wins. Of a type that the catalog does not have nothing is assumed.
"""

from collections.abc import Iterator

from llm_fleet.catalog.ec2_instances import Ec2Instance, ec2_facts_of
from llm_fleet.rules.parallelcluster.cluster_shape import ClusterShape
from llm_fleet.rules.parallelcluster.terms import CapacityType
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.parallelcluster_queue import CapacityReservation, ComputeResource, PlacementGroup, Queue

_HOME = "home"


def efa_of(resource: ComputeResource) -> bool:
    """Return whether EFA is on: by default wherever every instance type has it.

    Training over plain TCP is several times slower, and EFA costs nothing.
    """
    if resource.efa is not None:
        return resource.efa
    facts = list(instances_of(resource))
    return bool(facts) and all(known is not None and known.efa_interfaces > 0 for known in facts)


def exclusive_of(queue: Queue) -> bool:
    """Return whether a job has its nodes to itself: by default where any instance type has accelerators.

    ParallelCluster's Slurm cannot count Neuron devices, so two jobs on one node would take each other's.
    """
    if queue.exclusive is not None:
        return queue.exclusive
    return any(
        known is not None and known.accelerator is not None
        for resource in queue.compute_resources
        for known in instances_of(resource)
    )


def capacity_reservation_of(queue: Queue, resource: ComputeResource) -> CapacityReservation | None:
    """Return where the instances of `resource` are reserved: its own say, else its queue's."""
    return resource.capacity_reservation or queue.capacity_reservation


def placement_group_of(queue: Queue, resource: ComputeResource) -> PlacementGroup | None:
    """Return the placement group of `resource`; `None` leaves it to EC2.

    By default one of ParallelCluster's own with EFA, which ParallelCluster asks to be explicit about. None on purpose
    with reserved capacity, which may stand outside of it or has a group of its own, or over several subnets. Capacity
    Blocks are placed by AWS.
    """
    given = resource.placement_group or queue.placement_group
    if given is not None or not efa_of(resource) or queue.capacity_type is CapacityType.CAPACITY_BLOCK:
        return given
    if capacity_reservation_of(queue, resource) is not None or len(queue.subnet_ids) > 1:
        return PlacementGroup.none()
    return PlacementGroup.managed()


def gpu_health_check_of(queue: Queue, resource: ComputeResource) -> bool:
    """Return whether NVIDIA's diagnostics run before jobs: the compute resource's say, else its queue's, else not."""
    own = resource.gpu_health_check if resource.gpu_health_check is not None else queue.gpu_health_check
    return bool(own)


def has_home_of_its_own(cluster: ClusterShape) -> bool:
    """Return whether /home is a shared storage of the cluster's, in place of the head node's volume.

    The default user then gets a home outside of it (`DefaultUserHome: Local`), else the mount would hide its keys.
    """
    return any(storage.mount_dir.strip("/") == _HOME for storage in cluster.shared_storage)


def instances_of(resource: ComputeResource) -> Iterator[Ec2Instance | None]:
    """Yield what is known of each instance type of `resource`; `None` for one that is not known."""
    for name in resource.types:
        yield None if is_unresolved(name) else ec2_facts_of(name)
