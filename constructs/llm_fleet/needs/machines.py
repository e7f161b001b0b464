"""Instances and the Lustre file system that a fleet needs."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from llm_fleet.catalog.data_file import Steps
from llm_fleet.catalog.ec2_instances import ec2_instance, efa_gbps, gpu_memory_mib
from llm_fleet.catalog.fsx import lustre_need_facts
from llm_fleet.catalog.hyperpod import instances
from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.fleet_file.check_clusters import placed_cluster, placed_parallelcluster, zone_of_parallelcluster
from llm_fleet.fleet_file.check_sagemaker import zones_of_studio
from llm_fleet.fleet_file.clusters import ParallelClusterConfig
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.sagemaker import EndpointConfig, TrainingJobConfig
from llm_fleet.rules.terms import CapacityType
from llm_fleet.spec.hyperpod_cluster import PlacedCluster
from llm_fleet.spec.instance_group import InstanceGroup
from llm_fleet.spec.parallelcluster_queue import ComputeResource, Queue
from llm_fleet.spec.storage import LustreSpec


class MachineService(StrEnum):
    """Service that provides the instances; price and quota depend on it."""

    HYPERPOD = "hyperpod"
    PARALLELCLUSTER = "parallelcluster"
    ECS = "ecs"
    ENDPOINT = "endpoint"
    TRAINING_JOB = "training-job"
    NOTEBOOK = "notebook"
    STUDIO = "studio"

    @property
    def on_ec2(self) -> bool:
        """Whether they are EC2 instances of the account, without `ml.` in their type."""
        return self in (MachineService.PARALLELCLUSTER, MachineService.ECS)


class CapacitySource(StrEnum):
    """Purchase option of the capacity."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    TRAINING_PLAN = "training-plan"
    RESERVATION = "reservation"
    """An EC2 capacity reservation, billed at the on-demand price, whether used or not."""
    CAPACITY_BLOCK = "capacity-block"
    """Paid at purchase."""

    @property
    def paid_before(self) -> bool:
        """Whether it was paid at purchase, so that running costs nothing more."""
        return self in (CapacitySource.TRAINING_PLAN, CapacitySource.CAPACITY_BLOCK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """Equal instances that one part of a fleet file requests."""

    owner: str
    """Part of the fleet, e.g. `train/trn1` or `service chat`."""
    path: tuple[str, ...]
    """Path in the fleet file, in its own keys, e.g. `("clusters", "train", "groups", "trn1")`."""
    service: MachineService
    instance_type: str
    """With `ml.` for SageMaker; the first choice if there are several. Empty if a Capacity Block decides it."""
    other_types: tuple[str, ...] = ()
    """Types that are used when `instance_type` has no capacity."""
    count: int
    """Maximum number."""
    minimum: int
    """Number of instances that always run."""
    at_first: int = 0
    """Minimum number of instances that start when none runs, if more than `minimum`; they are terminated when not
    needed.
    """
    availability_zone_ids: tuple[str, ...] = ()
    """AZs of the instances; empty if unknown, or if they have their own subnets."""
    capacity: CapacitySource = CapacitySource.ON_DEMAND
    capacity_id: str | None = None
    """ARN of the training plan, or the id or ARN of the reservation or the capacity block."""

    @property
    def instance_types(self) -> tuple[str, ...]:
        """All types, the first choice first."""
        return (self.instance_type, *self.other_types) if self.instance_type else self.other_types

    @property
    def ec2_type(self) -> str:
        """The first choice by its EC2 name, without `ml.`."""
        return self.instance_type.removeprefix("ml.")


_MIB_OF_GIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFacts:
    """Facts of one instance. `None` means that no source has the value."""

    vcpus: int | None
    memory_gib: float | None
    accelerator: Literal["gpu", "neuron"] | None
    accelerators: int
    """GPUs or Neuron devices."""
    accelerator_mib: int | None
    """Memory of one of them in MiB."""
    efa_interfaces: int | None
    efa_gbps: float | None
    """Maximum Gbit/s of all its network cards over EFA; `None` without EFA."""

    @property
    def accelerator_gib(self) -> int | None:
        """Memory of all its accelerators together, in whole GiB; `None` without accelerators."""
        if self.accelerator_mib is None:
            return None
        return self.accelerators * self.accelerator_mib // _MIB_OF_GIB


def facts_of_machines(machines: Machines) -> MachineFacts | None:
    """Return the facts of the first choice of `machines`; `None` if it is not in the catalog."""
    known = instances().get(machines.instance_type) or ec2_instance(machines.ec2_type)
    if known is None:
        return None
    return MachineFacts(
        vcpus=known.vcpus,
        memory_gib=known.memory_gib,
        accelerator=known.accelerator,
        accelerators=known.accelerators,
        accelerator_mib=_memory_mib(machines.ec2_type) if known.accelerators else None,
        efa_interfaces=known.efa_interfaces,
        efa_gbps=efa_gbps(machines.ec2_type) if known.efa_interfaces else None,
    )


def _memory_mib(ec2_type: str) -> int | None:
    neuron = neuron_instance(ec2_type)
    return neuron.hbm_gib_per_device * _MIB_OF_GIB if neuron else gpu_memory_mib(ec2_type.partition(".")[0])


def machines_of_clusters(fleet: Fleet) -> Iterator[Machines]:
    """Return the instances of HyperPod clusters and ParallelClusters, in the order of the file."""
    for name in fleet.clusters:
        if name in fleet.hyperpod_clusters:
            yield from _of_hyperpod(name, placed_cluster(fleet, fleet.hyperpod_clusters[name]))
        else:
            yield from _of_parallelcluster(name, fleet, fleet.parallelclusters[name])


def _of_hyperpod(name: str, cluster: PlacedCluster) -> Iterator[Machines]:
    """Return the instances of a HyperPod cluster, which always run: none is started or stopped for jobs."""
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
            availability_zone_ids=_zones(cluster.zone_of(group)),
            capacity=source,
            capacity_id=bought,
        )


def _capacity_of_group(group: InstanceGroup) -> tuple[CapacitySource, str | None]:
    if group.training_plan_arn is not None:
        return CapacitySource.TRAINING_PLAN, group.training_plan_arn
    return (CapacitySource.SPOT if group.spot else CapacitySource.ON_DEMAND), None


def _of_parallelcluster(name: str, fleet: Fleet, config: ParallelClusterConfig) -> Iterator[Machines]:
    cluster, zones = placed_parallelcluster(fleet, config), _zones(zone_of_parallelcluster(fleet, config))
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


def _of_resource(cluster: str, queue: Queue, resource: ComputeResource) -> Machines:
    first, *others = resource.types or ("",)
    nested = ("resources", resource.name) if queue.resources else ()
    reservation = resource.capacity_reservation or queue.capacity_reservation
    source = _SOURCES[queue.capacity_type]
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
    CapacityType.ONDEMAND: CapacitySource.ON_DEMAND,
    CapacityType.SPOT: CapacitySource.SPOT,
    CapacityType.CAPACITY_BLOCK: CapacitySource.CAPACITY_BLOCK,
}


def _zones(zone: str | None) -> tuple[str, ...]:
    return () if zone is None else (zone,)


_HOSTS_FROM_ZERO = 2


def machines_of_services(fleet: Fleet) -> Iterator[Machines]:
    """Return the instances of inference services: each task has its own. The instance of an export is not included,
    because it runs only when a user starts it."""
    for name, service in fleet.services.items():
        tasks = service.tasks
        yield Machines(
            owner=f"service {name}",
            path=("services", name),
            service=MachineService.ECS,
            instance_type=service.instance_type,
            count=tasks.maximum,
            minimum=tasks.minimum,
            # assumption: ecs-managed-scaling-starts-from-zero
            at_first=min(_HOSTS_FROM_ZERO, tasks.maximum) if not service.hosts.managed else 0,
            availability_zone_ids=_network_zones(fleet),
        )


def machines_of_sagemaker(fleet: Fleet) -> Iterator[Machines]:
    """Return the instances of SageMaker besides clusters; jobs, notebooks and Studio may have none for a long time."""
    for name, endpoint in fleet.endpoints.items():
        inside = endpoint.is_in_network(fleet_has_one=fleet.network is not None)
        yield _of_endpoint(name, endpoint, _network_zones(fleet) if inside else ())
    for name, job in fleet.training_jobs.items():
        yield _of_job(name, job, _zones_of_job(job, fleet))
    for name, notebook in fleet.notebooks.items():
        zone = notebook.availability_zone_id or fleet.first_zone
        yield Machines(
            owner=f"notebook {name}",
            path=("notebooks", name),
            service=MachineService.NOTEBOOK,
            instance_type=notebook.instance_type,
            count=1,
            minimum=0,
            availability_zone_ids=() if zone is None else (zone,),
        )
    if fleet.studio is not None:
        yield Machines(
            owner="studio",
            path=("studio",),
            service=MachineService.STUDIO,
            instance_type=fleet.studio.instance_type,
            count=len(fleet.studio.users),
            minimum=0,
            availability_zone_ids=zones_of_studio(fleet, fleet.studio),
        )


def _of_endpoint(name: str, endpoint: EndpointConfig, zones: tuple[str, ...]) -> Machines:
    return Machines(
        owner=f"endpoint {name}",
        path=("endpoints", name),
        service=MachineService.ENDPOINT,
        instance_type=endpoint.instance_type,
        count=endpoint.greatest_instance_count,
        minimum=endpoint.least_instance_count,
        availability_zone_ids=zones,
    )


def _of_job(name: str, job: TrainingJobConfig, zones: tuple[str, ...]) -> Machines:
    capacity = CapacitySource.SPOT if job.spot is not None else CapacitySource.ON_DEMAND
    return Machines(
        owner=f"training job {name}",
        path=("training_jobs", name),
        service=MachineService.TRAINING_JOB,
        instance_type=job.instance_type,
        count=job.instance_count,
        minimum=0,
        availability_zone_ids=zones,
        capacity=capacity if job.training_plan_arn is None else CapacitySource.TRAINING_PLAN,
        capacity_id=job.training_plan_arn,
    )


def _zones_of_job(job: TrainingJobConfig, fleet: Fleet) -> tuple[str, ...]:
    """Return the AZ of FSx if a channel is on it, otherwise all AZs of the network."""
    zone = fleet.zone_of_fsx if any(channel.fsx is not None for channel in job.channels.values()) else None
    return _network_zones(fleet) if zone is None else (zone,)


def _network_zones(fleet: Fleet) -> tuple[str, ...]:
    return () if fleet.network is None else fleet.network.zones


def machines_of(fleet: Fleet) -> tuple[Machines, ...]:
    """Return the machines of `fleet`, by part: clusters, services, then other parts of SageMaker."""
    return (*machines_of_clusters(fleet), *machines_of_services(fleet), *machines_of_sagemaker(fleet))


_MB = 1000**2
_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreSupply:
    """Throughput of the fleet's file system."""

    spec: LustreSpec
    mb_per_second: int
    """Baseline MB/s of the whole file system."""


def lustre_supply(fleet: Fleet) -> LustreSupply | None:
    """Return the throughput of the file system of `fleet`; `None` without one, and for an existing one."""
    fsx = fleet.storage.fsx
    if fsx is None or fsx.existing is not None:
        return None
    throughput = mb_per_second(fsx)
    return None if throughput is None else LustreSupply(spec=fsx, mb_per_second=throughput)


def mb_per_second(spec: LustreSpec) -> int | None:
    """Return MB/s of the whole file system; `None` if the description does not determine it."""
    whole, size = spec.effective_throughput_capacity, spec.effective_capacity_gib
    if whole is not None or size is None:
        return whole
    facts = lustre_need_facts()
    each = spec.effective_throughput or facts.scratch_mb_per_tib
    return size * each // facts.gib_per_tib


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointNeed:
    """A run, and how long each of its checkpoints stops the training."""

    run: str
    nodes: int
    checkpoint_bytes: int
    """Estimate: weights and optimizer state."""
    supply: LustreSupply

    @property
    def seconds(self) -> float:
        """Time to write a checkpoint, when no other job writes."""
        return self.checkpoint_bytes / _MB / self.supply.mb_per_second

    @property
    def wanted_mb_per_second(self) -> int:
        """MB/s to write it within the time of the rule of thumb."""
        return math.ceil(self.checkpoint_bytes / _MB / (lustre_need_facts().checkpoint_minutes * _SECONDS))

    @property
    def short(self) -> bool:
        """Whether the file system is slower than this."""
        return self.wanted_mb_per_second > self.supply.mb_per_second

    @property
    def remedy(self) -> str:
        """What to write under `storage.fsx` for this throughput: an available throughput, otherwise a larger size."""
        spec, wanted = self.supply.spec, self.wanted_mb_per_second
        variant, size = spec.variant, spec.effective_capacity_gib
        if variant is None or size is None:
            return f"write `throughput: {_offered(variant and variant.throughput_capacity, wanted)} MB/s`"
        tib = size / lustre_need_facts().gib_per_tib
        for throughput in sorted(variant.throughputs):
            tier = variant.tier(throughput)
            if throughput * tib >= wanted and tier is not None and tier.capacity.accepts(size):
                return f"write `throughput: {throughput} MB/s/TiB`"
        most = max(variant.throughputs, default=lustre_need_facts().scratch_mb_per_tib)
        tier = variant.tier(most) or variant.tiers[0]
        needed = math.ceil(wanted / most * lustre_need_facts().gib_per_tib)
        larger = _offered(tier.capacity, needed)
        prefix = f"`throughput: {most} MB/s/TiB` and " if variant.throughputs else ""
        return f"write {prefix}`size: {larger} GiB`"


def _offered(steps: Steps | None, wanted: int) -> int:
    """Return the smallest available amount that is at least `wanted`."""
    if steps is None or steps.accepts(wanted):
        return wanted
    return steps.nearest(wanted)[1] or wanted
