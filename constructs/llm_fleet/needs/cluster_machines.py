"""The machines of a fleet's clusters."""

from collections.abc import Iterator

from llm_fleet.config.cluster_view import ClusterView
from llm_fleet.config.fleet import Fleet
from llm_fleet.config.parallelcluster.choices import Capacity
from llm_fleet.config.parallelcluster.compute_resource import ComputeResourceConfig
from llm_fleet.config.parallelcluster.queue import QueueConfig
from llm_fleet.config.parallelcluster.view import ParallelClusterView
from llm_fleet.needs.machine import Machines
from llm_fleet.needs.terms import CapacitySource, MachineService
from llm_fleet.rules.hyperpod_network import zone_of
from llm_fleet.spec.instance_group import InstanceGroup


def machines_of_clusters(fleet: Fleet) -> Iterator[Machines]:
    """Return those of HyperPod clusters and of ParallelClusters, in the order of the file."""
    for name in fleet.clusters:
        if name in fleet.hyperpod_clusters:
            yield from _of_hyperpod(name, ClusterView(fleet=fleet, config=fleet.hyperpod_clusters[name]))
        else:
            yield from _of_parallelcluster(name, ParallelClusterView(fleet=fleet, config=fleet.parallelclusters[name]))


def _of_hyperpod(name: str, cluster: ClusterView) -> Iterator[Machines]:
    """HyperPod keeps as many as were asked for: none comes and goes with the jobs."""
    for group in cluster.groups:
        first, *others = group.types
        source, bought = _capacity_of_group(group)
        yield Machines(
            owner=f"{name}/{group.name}",
            path=("clusters", name, "groups", group.name),
            service=MachineService.HYPERPOD,
            instance_type=first,
            other_types=tuple(others),
            count=group.count,
            minimum=group.count,
            availability_zone_ids=_zones(zone_of(cluster, group)),
            capacity=source,
            capacity_id=bought,
        )


def _capacity_of_group(group: InstanceGroup) -> tuple[CapacitySource, str | None]:
    if group.training_plan_arn is not None:
        return CapacitySource.TRAINING_PLAN, group.training_plan_arn
    return (CapacitySource.SPOT if group.spot else CapacitySource.ON_DEMAND), None


def _of_parallelcluster(name: str, cluster: ParallelClusterView) -> Iterator[Machines]:
    zones = _zones(cluster.availability_zone_id)
    head = cluster.head_node
    yield Machines(
        owner=f"{name}/head",
        path=("clusters", name, "head"),
        service=MachineService.PARALLELCLUSTER,
        instance_type=head.instance_type,
        count=1,
        minimum=1,
        availability_zone_ids=() if head.subnet_id else zones,
    )
    for pool in cluster.login_pools:
        yield Machines(
            owner=f"{name}/{pool.name}",
            path=("clusters", name, "login", pool.name),
            service=MachineService.PARALLELCLUSTER,
            instance_type=pool.instance_type,
            count=pool.count,
            minimum=pool.count,
            availability_zone_ids=() if pool.subnet_id else zones,
        )
    for queue in cluster.queues:
        for resource in queue.compute_resources:
            yield _of_resource(name, queue, resource)


def _of_resource(cluster: str, queue: QueueConfig, resource: ComputeResourceConfig) -> Machines:
    first, *others = resource.instance_types or ("",)
    nested = ("resources", resource.name) if queue.resources else ()
    reservation = resource.capacity_reservation or queue.capacity_reservation
    source = _SOURCES[queue.capacity]
    if source is CapacitySource.ON_DEMAND and reservation is not None:
        source = CapacitySource.RESERVATION
    return Machines(
        owner="/".join((cluster, queue.name, *nested[1:])),
        path=("clusters", cluster, "queues", queue.name, *nested),
        service=MachineService.PARALLELCLUSTER,
        instance_type=first,
        other_types=tuple(others),
        count=resource.max_count,
        minimum=resource.min_count,
        availability_zone_ids=_zones(queue.availability_zone_id),
        capacity=source,
        capacity_id=reservation and (reservation.reservation_id or reservation.resource_group_arn),
    )


_SOURCES = {
    Capacity.ON_DEMAND: CapacitySource.ON_DEMAND,
    Capacity.SPOT: CapacitySource.SPOT,
    Capacity.CAPACITY_BLOCK: CapacitySource.CAPACITY_BLOCK,
}


def _zones(zone: str | None) -> tuple[str, ...]:
    return () if zone is None else (zone,)
